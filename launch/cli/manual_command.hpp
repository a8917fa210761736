// `tidegate completion`, which prints what a shell needs to complete command lines, and what
// goes with it: `tidegate complete`, which a shell asks, and `tidegate manual`, which writes
// the files that are installed. Main thread only.
#pragma once

#include <string>
#include <vector>

#include "launch/text/command_page.hpp"

namespace tidegate::launch {

// Returns true if a command line of `tidegate` is for here.
bool is_manual_command(const std::vector<std::string>& args);

// `args` without the program's name, is_manual_command(); `pages` of all commands, with that of
// `tidegate` itself first. Returns what to exit with.
int run_manual_command(const std::vector<std::string>& args,
                       const std::vector<command_page>& pages);

// What `tidegate completion` is.
command_page completion_page();

}  // namespace tidegate::launch
