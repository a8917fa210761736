// `tidegate chaos`: kills and stops processes of a run on purpose. Main thread only.
#pragma once

#include <string>
#include <vector>

namespace tidegate::chaos {

// Whether a command line of `tidegate` is for here: chaos, help chaos.
bool is_chaos(const std::vector<std::string>& args);

// `args` without the program's name, is_chaos. Returns what to exit with (launch::exit_code).
int run_chaos(const std::vector<std::string>& args);

}  // namespace tidegate::chaos
