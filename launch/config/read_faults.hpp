// From the YAML's `faults` to the spec. Pure, any thread.
#pragma once

#include "launch/config/section.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

// After all else of the spec: a fault names a process of it. What is wrong is noted in the
// section's problems.
void read_faults(const section& from, policies::cluster_spec& into);

}  // namespace tidegate::launch
