#include "runtime/optimizers/registry.hpp"

#include <vector>

#include "runtime/optimizers/power.hpp"

namespace tidegate::runtime {

beta_powers powers_after(const optimizer_options& options, std::uint64_t steps) noexcept {
  return {.beta1 = power_of(options.beta1, steps), .beta2 = power_of(options.beta2, steps)};
}

std::optional<optimizer_kind> find_optimizer(std::uint64_t number) noexcept {
  for (const auto& traits : optimizers_known)
    if (static_cast<std::uint64_t>(traits.kind) == number) return traits.kind;
  if (number == static_cast<std::uint64_t>(optimizer_kind::plugin))
    return optimizer_kind::plugin;
  return {};
}

std::optional<optimizer_kind> find_optimizer(std::string_view name) noexcept {
  for (const auto& traits : optimizers_known)
    if (traits.name == name) return traits.kind;
  if (rule_of_word(name)) return optimizer_kind::plugin;
  return {};
}

std::string name_of(const optimizer_options& options) {
  return options.kind == optimizer_kind::plugin ? word_of(options.rule)
                                                : std::string(optimizer_name(options.kind));
}

std::string reduction_of(const optimizer_options& options) {
  return options.reduce == reduction::plugin ? word_of(options.reduce_rule)
                                             : std::string(reduction_name(options.reduce));
}

namespace {

template <class Condition>
std::string names_of(const Condition& is_listed, std::string_view last) {
  std::vector<std::string_view> names;
  for (const auto& traits : optimizers_known)
    if (is_listed(traits)) names.push_back(traits.name);
  if (is_listed(plugin_traits)) names.push_back(plugin_traits.name);
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? last : ", ";
    text += names[i];
  }
  return text;
}

}  // namespace

std::string optimizer_names(optimizer_option option, std::string_view last) {
  return names_of(
      [&](const optimizer_traits& traits) { return contains(traits.options, option); }, last);
}

std::string row_optimizer_names() {
  return names_of([](const optimizer_traits& traits) { return traits.steps_rows; }, ", ");
}

std::string dense_optimizer_names() {
  return names_of([](const optimizer_traits& traits) { return steps_elements(traits.kind); },
                  ", ");
}

}  // namespace tidegate::runtime
