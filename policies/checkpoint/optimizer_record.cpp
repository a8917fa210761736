#include "policies/checkpoint/optimizer_record.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <optional>

#include "policies/checkpoint/record_fields.hpp"

namespace tidegate::policies {

using runtime::errc;
using runtime::status;

namespace {

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}

// A name in runs of four characters.
using rule_words = std::array<std::uint32_t, rule_numbers>;

std::optional<runtime::rule_name> rule_of(std::span<const std::uint64_t> numbers) {
  rule_words words;
  std::copy_n(numbers.begin(), words.size(), words.begin());
  const auto rule = std::bit_cast<runtime::rule_name>(words);
  if (rule.empty() && rule == runtime::rule_name()) return rule;
  const auto known = runtime::make_rule_name(rule.view());
  return known == rule ? known : std::nullopt;
}

}  // namespace

std::vector<std::uint64_t> numbers_of(const optimizer_spec& spec) {
  std::vector<std::uint64_t> numbers = {static_cast<std::uint32_t>(spec.kind),
                                        bits_of(spec.learning_rate),
                                        bits_of(spec.momentum),
                                        bits_of(spec.beta1),
                                        bits_of(spec.beta2),
                                        bits_of(spec.epsilon),
                                        bits_of(spec.weight_decay),
                                        bits_of(spec.clip_value),
                                        static_cast<std::uint32_t>(spec.schedule.kind),
                                        spec.schedule.warmup,
                                        spec.schedule.clocks,
                                        bits_of(spec.schedule.factor),
                                        spec.lazy ? 1U : 0U,
                                        bits_of(spec.l1),
                                        bits_of(spec.l2),
                                        bits_of(spec.beta),
                                        bits_of(spec.l21),
                                        static_cast<std::uint32_t>(spec.reduce),
                                        spec.rule_states};
  for (const auto& rule : {spec.rule, spec.reduce_rule})
    for (const auto word : std::bit_cast<rule_words>(rule)) numbers.push_back(word);
  return numbers;
}

nlohmann::json encode_optimizer(const optimizer_spec& spec) {
  return numbers_of(spec);
}

optimizer_spec optimizer_of(std::span<const std::uint64_t> numbers, status& problem) {
  const auto number = [&](std::size_t at) { return static_cast<std::uint32_t>(numbers[at]); };
  const auto real = [&](std::size_t at) { return std::bit_cast<float>(number(at)); };
  const auto kind = runtime::find_optimizer(numbers[0]);
  const auto schedule = runtime::find_schedule(numbers[8]);
  const auto reduce = runtime::find_reduction(numbers[17]);
  const auto rule = rule_of(numbers.subspan(19));
  const auto reduce_rule = rule_of(numbers.subspan(19 + rule_numbers));
  const bool has_rules = rule && reduce_rule && numbers[18] <= runtime::states_max;
  if (!kind || !schedule || !reduce || !has_rules) {
    if (problem.ok())
      problem = {errc::corrupt, !kind       ? "no such optimizer"
                                : !schedule ? "no such schedule"
                                : !reduce   ? "no such reduction"
                                            : "no such rule of a plugin"};
    return {};
  }
  optimizer_spec optimizer = {.kind = *kind,
                              .learning_rate = real(1),
                              .momentum = real(2),
                              .beta1 = real(3),
                              .beta2 = real(4),
                              .epsilon = real(5),
                              .weight_decay = real(6),
                              .l1 = real(13),
                              .l2 = real(14),
                              .beta = real(15),
                              .l21 = real(16),
                              .clip_value = real(7),
                              .schedule = {*schedule, number(9), number(10), real(11)},
                              .lazy = number(12) != 0,
                              .reduce = *reduce,
                              .reduce_rule = *reduce_rule,
                              .rule = *rule,
                              .rule_states = number(18)};
  if (problem.ok() && !is_complete(optimizer.schedule))
    problem = {errc::corrupt, "a schedule without clocks"};
  return optimizer;
}

optimizer_spec decode_optimizer(json_fields& fields, status& problem) {
  // Journals of Tidegate 0.2 have 7 numbers; those before ranges 12, those before optimizers of
  // rows alone 15, those before reductions 17, and those before rules of plugins 18.
  constexpr std::size_t sizes_before[] = {7, 12, 15, 17, 18};
  const auto size = fields.array("optimizer").size();
  const bool is_older = std::find(std::begin(sizes_before), std::end(sizes_before), size) !=
                        std::end(sizes_before);
  auto values = row(fields, "optimizer", is_older ? size : optimizer_numbers, any_32, problem);
  values.resize(optimizer_numbers);
  if (size <= 15) values[15] = bits_of(optimizer_spec().beta);
  return optimizer_of(values, problem);
}

}  // namespace tidegate::policies
