// `tidegate stop`: ends a run in an orderly way.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Asks the launcher to end the run, waits until it has ended, and says how. Returns what to
// exit with.
exit_code stop_run(const command_line& line);

}  // namespace tidegate::launch
