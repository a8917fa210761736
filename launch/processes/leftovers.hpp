// Processes that outlived the launcher of a run: those that it started end with it, but not
// what a worker has started. All of them still have the environment that the launcher gave
// them. Main thread only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/launcher/leftover.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// What an earlier launcher of a run has left to find its processes by.
struct earlier_launch {
  policies::launcher_mark launcher;
  std::vector<std::int32_t> listed;   // in pids.json
  std::vector<std::string> run_dirs;  // as TIDEGATE_RUN_DIR may have the folder
};

// Of the launcher that wrote launcher.json in this folder. Errors: not_found (it wrote none),
// corrupt, io_error.
runtime::expected<earlier_launch> read_earlier_launch(const std::string& run_dir);

// Returns what this process writes down of itself.
policies::launcher_mark own_mark_as_launcher(const std::string& token);

// Kills the processes of this machine that are left of it (policies/launcher/leftover.hpp), but
// those of the caller's own process group. Nothing happens where they are on another machine.
// Blocks until they are gone. Returns how many there were. Errors: timed_out (one has not ended
// within five seconds), refused (it is another user's).
runtime::expected<int> end_leftovers(const earlier_launch& earlier);

}  // namespace tidegate::launch
