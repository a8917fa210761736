// `tidegate clocks`: what happened in each clock of a run, one by one.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Prints a row for each clock, or a line of JSON, of the same spans as trace_run(). Returns
// the exit code of the program.
exit_code show_clocks(const command_line& line);

}  // namespace tidegate::launch
