// `tidegate why`: which workers the jobs of a run wait for, and why.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Says it of each job, or of the one that is named. Returns what to exit with.
exit_code explain(const command_line& line);

}  // namespace tidegate::launch
