// What the core of a launcher is told of a cluster. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/launcher/plan.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

// Returns the hosts whose processes the launcher's own agent starts, by name. Empty: the
// cluster names no hosts, or all have agents of their own.
std::vector<std::string> own_hosts(const policies::cluster_spec& spec);

// The launcher's own hosts are its first; the others follow in the order of
// policies::agent_hosts().
policies::launch_plan launch_plan_of(const policies::cluster_spec& spec, std::uint32_t epoch);

}  // namespace tidegate::launch
