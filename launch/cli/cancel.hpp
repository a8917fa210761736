// `tidegate cancel`: ends a job of a run.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Says what came of it. Returns what to exit with.
exit_code cancel_job(const command_line& line);

}  // namespace tidegate::launch
