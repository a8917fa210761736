// `tidegate logs`: what processes of a run have written, and write.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Shows the last lines of logs and, where that is asked for, those that follow, until the run
// has ended. Returns what to exit with.
exit_code show_logs(const command_line& line);

}  // namespace tidegate::launch
