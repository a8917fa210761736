// The rule that simulated clusters have as if a plugin of theirs had it.
#pragma once

#include "policies/model/spec.hpp"

namespace tidegate::sim {

// Returns the name of a reduction of this process, which is there from now on: of two numbers
// the one that is larger in absolute value. Not while other threads make steps.
runtime::rule_name simulated_rule();

}  // namespace tidegate::sim
