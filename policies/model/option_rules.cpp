#include "policies/model/option_rules.hpp"

#include <cmath>
#include <cstdio>
#include <string>

namespace tidegate::policies {

namespace {

using runtime::errc;

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
bool is_decay(float x) {
  return x >= 0.0F && x < 1.0F;
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
    return optimizer_spec();
  }
  const auto known = runtime::find_optimizer(name);
  if (!known)
    return runtime::fail(
        refused(table, "optimizer.name: '" + name + "' is not known",
                runtime::optimizer_names(runtime::optimizer_option::learning_rate)));
  auto spec = default_optimizer(*known);
  for (const auto& rule : optimizer_rules) {
    const auto& value = options.*rule.given;
    if (!value) continue;
    if (auto checked = check_value(rule, *value, spec.kind, name, table); !checked.ok())
      return runtime::fail(std::move(checked));
    spec.*rule.value = *value;
  }
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
