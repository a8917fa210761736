// From the YAML's `supervision` to the spec. Pure, any thread.
#pragma once

#include "launch/config/section.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

// What is wrong is noted in the section's problems.
void read_supervision(const section& from, policies::supervision_spec& into);

// "100ms..5s"
std::string backoff_text(const policies::restart_spec& limits);

}  // namespace tidegate::launch
