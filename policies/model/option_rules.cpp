#include "policies/model/option_rules.hpp"

#include <cmath>
#include <cstdio>
#include <string>

namespace tidegate::policies {

namespace {

using runtime::errc;
using runtime::status;

std::string text_of(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
  return text;
}

runtime::status refused(std::string_view table, const std::string& reason,
                        const std::string& allowed) {
  return {errc::invalid_argument,
          "options of table '" + std::string(table) + "': " + reason + "; allowed: " + allowed};
}

runtime::status check_value(const optimizer_rule& rule, float value, optimizer_kind kind,
                            const std::string& optimizer, std::string_view table) {
  const auto option = "optimizer." + std::string(rule.name) + ": " + text_of(value);
  if (!rule.belongs_to(kind))
    return refused(table, option + " does not belong to optimizer '" + optimizer + "'",
                   "only with name " + runtime::optimizer_names(rule.option));
  if (!rule.is_allowed(value))
    return refused(table, option + " is out of range", std::string(rule.allowed));
  return {};
}

std::string schedule_names() {
  std::string names;
  for (const auto kind : runtime::schedules_known)
    names += (names.empty() ? "" : ", ") + std::string(runtime::schedule_name(kind));
  return names;
}

status check_clocks(std::string_view name, std::uint64_t clocks, std::uint64_t least,
                    std::string_view allowed, std::string_view table) {
  if (clocks >= least && clocks <= schedule_clocks_max) return {};
  return refused(table,
                 "optimizer.schedule." + std::string(name) + ": " + std::to_string(clocks) +
                     " is out of range",
                 std::string(allowed));
}

runtime::expected<runtime::rate_schedule> checked_schedule(const schedule_options& options,
                                                           std::string_view table) {
  using kind = runtime::schedule_kind;
  const auto known = runtime::find_schedule(options.kind);
  if (!known)
    return runtime::fail(refused(
        table, "optimizer.schedule.kind: '" + std::string(options.kind) + "' is not known",
        schedule_names()));
  auto schedule = default_schedule(*known);
  const auto warmup = options.warmup.value_or(0);
  if (auto checked = check_clocks("warmup", warmup, 0, schedule_warmup_text, table);
      !checked.ok())
    return runtime::fail(std::move(checked));
  schedule.warmup = static_cast<std::uint32_t>(warmup);
  if (schedule.kind == kind::constant) {
    if (options.clocks || options.factor)
      return runtime::fail(refused(table,
                                   "optimizer.schedule: clocks and factor do not belong to "
                                   "schedule 'constant'",
                                   "only with kind step, cosine"));
    return schedule;
  }
  const auto clocks = options.clocks.value_or(0);
  if (auto checked = check_clocks("clocks", clocks, 1, schedule_clocks_text, table);
      !checked.ok())
    return runtime::fail(std::move(checked));
  schedule.clocks = static_cast<std::uint32_t>(clocks);
  schedule.factor = options.factor.value_or(schedule.factor);
  if (!is_share(schedule.factor))
    return runtime::fail(refused(
        table, "optimizer.schedule.factor: " + text_of(schedule.factor) + " is out of range",
        std::string(schedule_factor_text)));
  return schedule;
}

}  // namespace

bool is_finite(float x) {
  return std::isfinite(x);
}
bool is_finite_not_negative(float x) {
  return std::isfinite(x) && x >= 0.0F;
}
bool is_finite_positive(float x) {
  return std::isfinite(x) && x > 0.0F;
}
bool is_share(float x) {
  return x >= 0.0F && x <= 1.0F;
}
bool is_decay(float x) {
  return x >= 0.0F && x < 1.0F;
}

bool set_reduction(std::string_view word, optimizer_spec& into) {
  const auto rule = runtime::rule_of_word(word);
  const auto known = rule ? runtime::reduction::plugin : runtime::find_reduction(word);
  if (!known) return false;
  into.reduce = *known;
  into.reduce_rule = rule.value_or(runtime::rule_name());
  return true;
}

runtime::expected<optimizer_spec> checked_optimizer(const optimizer_options& options,
                                                    std::string_view table) {
  const std::string name(options.name);
  if (name.empty()) {
    for (const auto& rule : optimizer_rules)
      if (options.*rule.given)
        return runtime::fail(refused(
            table,
            "optimizer." + std::string(rule.name) + " is given without a name of an optimizer",
            runtime::optimizer_names(runtime::optimizer_option::learning_rate) +
                "; or no option at all, for the job's optimizer"));
    if (options.schedule)
      return runtime::fail(
          refused(table, "optimizer.schedule is given without a name of an optimizer",
                  runtime::optimizer_names(runtime::optimizer_option::learning_rate)));
    if (options.lazy || options.reduce || options.states)
      return runtime::fail(
          refused(table,
                  std::string(options.lazy     ? "optimizer.lazy"
                              : options.reduce ? "optimizer.reduce"
                                               : "optimizer.states") +
                      " is given without a name of an optimizer",
                  runtime::optimizer_names(runtime::optimizer_option::learning_rate)));
    return optimizer_spec();
  }
  const auto known = runtime::find_optimizer(name);
  if (!known)
    return runtime::fail(
        refused(table, "optimizer.name: '" + name + "' is not known",
                runtime::optimizer_names(runtime::optimizer_option::learning_rate)));
  auto spec = default_optimizer(*known);
  spec.rule = runtime::rule_of_word(name).value_or(runtime::rule_name());
  for (const auto& rule : optimizer_rules) {
    const auto& value = options.*rule.given;
    if (!value) continue;
    if (auto checked = check_value(rule, *value, spec.kind, name, table); !checked.ok())
      return runtime::fail(std::move(checked));
    spec.*rule.value = *value;
  }
  if (options.schedule) {
    constexpr auto option = runtime::optimizer_option::schedule;
    if (!runtime::contains(runtime::traits_of(spec.kind).options, option))
      return runtime::fail(
          refused(table, "optimizer.schedule does not belong to optimizer '" + name + "'",
                  "only with name " + runtime::optimizer_names(option)));
    const auto schedule = checked_schedule(*options.schedule, table);
    if (!schedule) return runtime::fail(schedule.error());
    spec.schedule = *schedule;
  }
  spec.lazy = options.lazy.value_or(false);
  if (options.reduce && !set_reduction(*options.reduce, spec))
    return runtime::fail(
        refused(table, "optimizer.reduce: '" + std::string(*options.reduce) + "' is not known",
                std::string(runtime::reduction_names)));
  if (options.states &&
      (*options.states > runtime::states_max || spec.kind != optimizer_kind::plugin))
    return runtime::fail(refused(table, "optimizer.states: " + std::to_string(*options.states),
                                 std::string(states_text)));
  spec.rule_states = static_cast<std::uint32_t>(options.states.value_or(0));
  return spec;
}

runtime::expected<init_spec> checked_init(const init_options& options, std::string_view table) {
  const auto uniform = "init_uniform: " + text_of(options.uniform);
  const auto constant = "init_constant: " + text_of(options.constant);
  if (!is_finite_not_negative(options.uniform))
    return runtime::fail(refused(table, uniform + " is out of range",
                                 std::string(finite_not_negative_text) + "; 0 for a constant"));
  if (!is_finite(options.constant))
    return runtime::fail(refused(table, constant + " is out of range", "a finite number"));
  if (options.uniform > 0 && options.constant != 0)
    return runtime::fail(
        refused(table, uniform + " and " + constant + " are both given", "one of them"));
  if (options.pushed && (options.uniform > 0 || options.constant != 0))
    return runtime::fail(refused(
        table,
        "init_pushed and " + (options.uniform > 0 ? uniform : constant) + " are both given",
        "one of them"));
  if (options.pushed) return init_spec{.kind = init_kind::pushed, .value = 0.0F};
  if (options.uniform > 0)
    return init_spec{.kind = init_kind::uniform, .value = options.uniform};
  return init_spec{.kind = init_kind::constant, .value = options.constant};
}

}  // namespace tidegate::policies
