// `tidegate bench`: measures on this machine. Main thread only.
#pragma once

#include <string>
#include <vector>

namespace tidegate::bench {

// Whether a command line of `tidegate` is for here: bench, help bench, and the internal
// bench-worker.
bool is_bench(const std::vector<std::string>& args);

// `args` without the program's name, is_bench. Returns what to exit with (launch::exit_code).
int run_bench(const std::vector<std::string>& args);

}  // namespace tidegate::bench
