// `tidegate node coordinator|shard`: the processes that `tidegate launch` starts. Main thread
// only.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/run/services.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Reads RUN_DIR/cluster.yaml and the environment of actors/environment/node_options.hpp, then
// runs until told to stop. SIGINT is ignored: a Ctrl-C is the launcher's to act on. Returns
// what to exit with: 0 or 1.
int node_main(const command_line& line, const services& cluster);

}  // namespace tidegate::launch
