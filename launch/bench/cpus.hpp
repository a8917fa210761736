// Which cores this process may use, and pinning to one of them. Any thread.
#pragma once

#include <sys/types.h>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::bench {

// Ascending; at least one.
std::vector<int> allowed_cpus();

// The calling thread, and threads that it starts afterwards. Errors: invalid_argument (no such
// core, or not allowed).
runtime::status pin_this_thread(int cpu);

// Every thread that the process has now. Errors: not_found (no such process), invalid_argument.
runtime::status pin_process(pid_t pid, int cpu);

}  // namespace tidegate::bench
