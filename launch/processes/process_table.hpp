// The processes of a run that live, by their numbers in the plan. Main thread only (see
// spawn.hpp). Ends them all when destroyed.
#pragma once

#include <poll.h>
#include <vector>

#include "launch/plan/plan.hpp"
#include "launch/processes/process_end.hpp"
#include "launch/processes/spawn.hpp"
#include "launch/shell/host_port.hpp"
#include "launch/shell/live_process.hpp"

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

  bool has(pid_t pid) const;
  // Returns true if none of them lives.
  bool is_empty() const noexcept { return children_.empty(); }
  // Returns when the one that was started last was, as the kernel counts it. Precondition: it
  // is there.
  std::uint64_t newest_started() const { return children_.back().started; }
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
