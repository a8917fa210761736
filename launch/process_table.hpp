// The processes of a run that live. Main thread only (see spawn.hpp). Ends them all when
// destroyed.
#pragma once

#include <poll.h>
#include <vector>

#include "launch/result.hpp"
#include "launch/spawn.hpp"
#include "launch/verdict.hpp"

namespace tidegate::launch {

class process_table {
 public:
  process_table() = default;
  process_table(const process_table&) = delete;
  process_table& operator=(const process_table&) = delete;
  ~process_table();

  // Errors: as spawn.
  runtime::expected<pid_t> start(const process_name& name, const spawn_request& request);

  // Those that have ended since the last call, in the order they were started. What a process
  // left running in its group is killed.
  std::vector<process_end> reap();

  // To every process left, and to what it started (its group).
  void signal_all(int signal) const;

  bool empty() const noexcept { return children_.empty(); }
  std::size_t count(process_role role) const;
  std::size_t workers_of(const std::string& job) const;
  std::vector<live_process> list() const;
  // Adds a descriptor per process that becomes readable when the process ends.
  void add_to(std::vector<pollfd>& fds) const;

 private:
  struct child {
    process_name name;
    spawned process;
  };
  std::vector<child> children_;
};

}  // namespace tidegate::launch
