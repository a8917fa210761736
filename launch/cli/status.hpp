// `tidegate status`: how a run goes on, or has ended.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Says what is known of the run. Returns what to exit with.
exit_code show_status(const command_line& line);

}  // namespace tidegate::launch
