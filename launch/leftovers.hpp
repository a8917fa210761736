// Processes that outlived the launcher of a run: those that it started end with it, but not
// what a worker has started. All of them still have the environment that the launcher gave
// them. Main thread only.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Whether `environment`, as in /proc/PID/environ, is of a process of the run in `run_dir`.
bool is_of_run(std::string_view environment, std::string_view run_dir);

// Kills the processes of this machine that are of the run in `run_dir` (as its launcher spelled
// it), whoever started them, but those of the caller's own process group. Blocks until they are
// gone. Returns how many there were. Errors: timed_out (one has not ended within five seconds),
// refused (it is another user's).
runtime::expected<int> end_leftovers(const std::string& run_dir);

}  // namespace tidegate::launch
