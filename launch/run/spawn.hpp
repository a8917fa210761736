// Starts a process that cannot outlive the launcher. Call from the main thread only: the kernel
// ends a child when the thread that forked it ends (PR_SET_PDEATHSIG).
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

struct spawn_request {
  std::string program;                   // a path
  std::vector<std::string> arguments;    // the first is the name the program is called by
  std::vector<std::string> environment;  // "NAME=value"
  std::string log_path;                  // gets stdout and stderr; created, or appended to
  std::vector<int> inherited_fds = {};   // stay open under their numbers; else only 0, 1, 2 do
};

struct spawned {
  pid_t pid = -1;
  runtime::unique_fd pid_fd;  // readable once the process has ended
};

// The child leads a process group of its own, reads /dev/null, has default signal handling and
// an empty mask. Returns once it runs the program. Errors: not_found, io_error (log file, no
// more processes, or the program cannot be executed); nothing is left behind then.
runtime::expected<spawned> spawn(const spawn_request& request);

}  // namespace tidegate::launch
