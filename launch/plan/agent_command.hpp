// The command that starts the agent of a host: the host's prefix, or the OpenSSH client, either
// of which runs `tidegate host` there. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "policies/model/spec.hpp"

namespace tidegate::launch {

// `own_program`: tidegate, where the launcher has it. The host has an agent of its own
// (policies::has_agent).
std::vector<std::string> agent_command(const policies::cluster_spec& spec,
                                       const policies::host_spec& host,
                                       const std::string& own_program);

}  // namespace tidegate::launch
