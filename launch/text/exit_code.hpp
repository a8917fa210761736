// What `tidegate` and its processes exit with. docs/yaml.md and the README tell users.
#pragma once

namespace tidegate::launch {

// What `tidegate` exits with.
enum class exit_code : int {
  done = 0,          // every job is done
  job_failed = 1,    // a job failed, the run was interrupted, or its folder cannot be written
  bad_usage = 2,     // the command line, the YAML or the run folder is wrong
  process_died = 3,  // a process died and was not to be replaced
};

// What a process of a run exits with instead of job_failed, so that the launcher can say why
// where the log has no room for it.
constexpr int exit_disk_full = 5;
constexpr int exit_disk_broken = 6;

}  // namespace tidegate::launch
