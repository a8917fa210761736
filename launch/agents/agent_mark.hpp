// What an agent of a host leaves for the agent after it, in the folder `agents` of the run's on
// this host: which process it is, and so which processes are its. Main thread only.
#pragma once

#include <string>

#include "launch/agents/agent_config.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Ends the agent of this host before this one, where it is on this machine and lives, and all
// that it has left here, and writes down that this process is the host's agent now. `run_dir`:
// the folder of the run on this host. Blocks until they are gone. Returns how many there were.
// Errors: those of end_leftovers, io_error.
runtime::expected<int> take_over_host(const agent_config& config, const std::string& run_dir);

}  // namespace tidegate::launch
