#include "policies/model/option_rules.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string>

namespace tidegate::policies {

namespace {

using runtime::errc;

std::string text_of(float value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
  return text;
}

// The optimizers that an option belongs to, or all of them.
std::string names_of(bool (*belongs_to)(optimizer_kind)) {
  std::string names;
  for (const auto& [name, kind] : optimizer_names)
    if (belongs_to(kind)) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
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
                   "only with name " + names_of(rule.belongs_to));
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
            names_of(belongs_to_all) + "; or no option at all, for the job's optimizer"));
    return optimizer_spec();
  }
  const auto* known = std::find_if(std::begin(optimizer_names), std::end(optimizer_names),
                                   [&](const auto& entry) { return entry.first == name; });
  if (known == std::end(optimizer_names))
    return runtime::fail(refused(table, "optimizer.name: '" + name + "' is not known",
                                 names_of(belongs_to_all)));
  auto spec = default_optimizer(known->second);
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
  if (options.uniform > 0)
    return init_spec{.kind = init_kind::uniform, .value = options.uniform};
  return init_spec{.kind = init_kind::constant, .value = options.constant};
}

}  // namespace tidegate::policies
