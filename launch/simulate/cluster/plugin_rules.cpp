#include "launch/simulate/cluster/plugin_rules.hpp"

#include <cmath>

#include "runtime/base/assert.hpp"
#include "runtime/functions/plugin_rules.hpp"

namespace tidegate::sim {

namespace {

void combine(const float* a, const float* b, float* out, std::uint64_t elements) {
  for (std::uint64_t i = 0; i < elements; ++i)
    out[i] = std::fabs(b[i]) > std::fabs(a[i]) ? b[i] : a[i];
}

constexpr tidegate_reduction strongest[] = {{.name = "strongest", .combine = combine}};

runtime::plugin_rules all_rules() {
  runtime::plugin_rules rules;
  const auto added = rules.add("of the simulator", strongest, {});
  TIDEGATE_ASSERT(added.ok(), "a rule that is right");
  return rules;
}

}  // namespace

runtime::rule_name simulated_rule() {
  static const auto rules = all_rules();
  static const auto name = [] {
    runtime::set_rules_of_process(rules);
    return runtime::make_rule_name(strongest[0].name).value();
  }();
  return name;
}

}  // namespace tidegate::sim
