// The processes of a run that live, by their numbers in the plan. Main thread only (see
// spawn.hpp). Ends them all when destroyed.
#pragma once

#include <poll.h>
#include <vector>

#include "launch/run/process_end.hpp"
#include "launch/run/result.hpp"
#include "launch/run/spawn.hpp"
#include "launch/shell/host_port.hpp"

namespace tidegate::launch {

class process_table {
 public:
  process_table() = default;
  process_table(const process_table&) = delete;
  process_table& operator=(const process_table&) = delete;
  ~process_table();

  // Errors: as spawn.
  runtime::expected<pid_t> start(const launched_process& member, const process_name& name,
                                 const spawn_request& request);

  // Takes in a process that was a spare, as the member that it has become.
  void adopt(const launched_process& member, const process_name& name, spawned process);

  // Ends all of them (SIGKILL), with what they started.
  void end_all() const;
  // Those that have ended since the last call, in the order they were started. What a process
  // left running in its group is killed.
  std::vector<process_end> reap();

  // To that incarnation of the process, if it is left, and to what it started (its group).
  void signal(const launched_process& process, int number) const;
  // To whichever incarnation of it there is.
  void signal(const process_name& process, int number) const;

  bool has(pid_t pid) const;
  std::vector<live_process> list() const;
  // Adds a descriptor per process that becomes readable when the process ends.
  void add_to(std::vector<pollfd>& fds) const;

 private:
  struct child {
    launched_process launched;
    process_name name;
    spawned process;
    std::uint64_t started = 0;
  };
  static void signal(const child& entry, int number);

  std::vector<child> children_;
};

}  // namespace tidegate::launch
