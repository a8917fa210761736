// `tidegate host`: the agent of a host, which starts and watches its processes as the launcher
// orders. Main thread only.
#pragma once

#include "launch/agents/agent_door.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Reads agent_config from standard input, and runs until the launcher asks it to leave, has
// been out of reach for too long, or standard input ends. No process of it is left then.
// Returns what to exit with; why is on stderr.
exit_code host_main(const agent_links& links);

}  // namespace tidegate::launch
