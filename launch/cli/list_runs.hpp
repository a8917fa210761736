// `tidegate ls`: the runs in a folder.
#pragma once

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Lists them, the newest last. Returns what to exit with.
exit_code list_runs(const command_line& line);

}  // namespace tidegate::launch
