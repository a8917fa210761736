// `tidegate trace`: what each process of a run did, moment by moment, for viewers of traces.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Of a run that goes on, its last seconds; or of one that has ended what it has left. Returns
// what to exit with.
exit_code trace_run(const command_line& line);

}  // namespace tidegate::launch
