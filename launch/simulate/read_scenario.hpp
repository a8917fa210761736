// Scenarios of the simulator, from YAML: which clusters, and what goes wrong in them. The keys
// are told by docs/testing.md; launch/simulate/scenarios has the standard ones. Pure, any
// thread.
#pragma once

#include <string>
#include <vector>

#include "launch/simulate/cluster/draw_plan.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::simulate {

// `source` names the text in messages. Errors: invalid_argument, a line per problem,
// `source:line:column: what`.
runtime::expected<sim::scenario> read_scenario(const std::string& text,
                                               const std::string& source);

// The standard ones, which are part of this program.
std::vector<sim::scenario> all_scenarios();
// Those of them that have a weight.
std::vector<sim::scenario> standard_mix();

}  // namespace tidegate::simulate
