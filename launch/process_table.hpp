// The processes of a run that live, by their numbers in the plan. Main thread only (see
// spawn.hpp). Ends them all when destroyed.
#pragma once

#include <poll.h>
#include <vector>

#include "launch/process_end.hpp"
#include "launch/result.hpp"
#include "launch/spawn.hpp"

namespace tidegate::launch {

class process_table {
 public:
  process_table() = default;
  process_table(const process_table&) = delete;
  process_table& operator=(const process_table&) = delete;
  ~process_table();

  // Errors: as spawn.
  runtime::expected<pid_t> start(policies::process_number number, const process_name& name,
                                 const spawn_request& request);

  // Those that have ended since the last call, in the order they were started. What a process
  // left running in its group is killed.
  std::vector<process_end> reap();

  // To the process, if it is left, and to what it started (its group).
  void signal(policies::process_number process, int number) const;

  std::vector<live_process> list() const;
  // Adds a descriptor per process that becomes readable when the process ends.
  void add_to(std::vector<pollfd>& fds) const;

 private:
  struct child {
    policies::process_number number = 0;
    process_name name;
    spawned process;
    std::uint64_t started = 0;
  };
  std::vector<child> children_;
};

}  // namespace tidegate::launch
