// The keys of `monitor`. Pure, any thread.
#pragma once

#include "launch/config/section.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

// Reads the map, where there is one.
void read_monitor(const section& from, policies::cluster_spec& into);

}  // namespace tidegate::launch
