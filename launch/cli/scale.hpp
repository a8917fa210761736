// `tidegate scale`: asks the launcher of a run for other numbers of workers.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Says what came of it. Returns what to exit with.
exit_code scale_run(const command_line& line);

}  // namespace tidegate::launch
