// Starts a process that cannot outlive the launcher. Call from the main thread only: the kernel
// ends a child when the thread that forked it ends (PR_SET_PDEATHSIG).
#pragma once

#include <functional>
#include <optional>
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
  std::string log_path = {};             // gets stdout and stderr; created, or appended to
  std::vector<int> inherited_fds = {};   // stay open under their numbers; else only 0, 1, 2 do
  int input = -1;                        // becomes its standard input; -1: /dev/null
  int output = -1;                       // becomes stdout and stderr instead of a log
};

struct spawned {
  pid_t pid = -1;
  runtime::unique_fd pid_fd;  // readable once the process has ended
};

// How a process has ended: `code` is its exit status, or the number of the signal.
struct process_result {
  bool by_signal = false;
  int code = 0;
};

// The child leads a process group of its own, has default signal handling and
// an empty mask. Returns once it runs the program. Errors: not_found, io_error (log file, no
// more processes, or the program cannot be executed); nothing is left behind then.
runtime::expected<spawned> spawn(const spawn_request& request);
// Opens a process's log for appending; creates it. Errors: not_found, io_error.
runtime::expected<runtime::unique_fd> open_log(const std::string& path);
// Returns how the process has ended, if it has; what it left running in its group is killed
// then, and its pid is given back in the background (launch/processes/reaper.hpp). It has no
// pidfd from then on, and is not asked again.
std::optional<process_result> reap(spawned& process);
// Returns the process with this pid, a child that was not started by spawn(); nothing where it
// is no child of this process.
std::optional<spawned> adopted(pid_t pid);
// Takes leave of children that have ended, but for those that `is_known`: what processes have
// left behind becomes a child of a launcher that adopts orphans.
void reap_strays(const std::function<bool(pid_t)>& is_known);
// Ends the process (SIGKILL), with what it started, and waits for it.
void end_now(const spawned& process);

}  // namespace tidegate::launch
