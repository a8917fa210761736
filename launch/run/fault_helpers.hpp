// Faults that take time, each carried out by a process of its own, `tidegate chaos`, so that
// the launcher waits for nothing: it cuts off a host, or fills a disk, and undoes that later.
// Main thread only (see spawn.hpp).
#pragma once

#include <poll.h>
#include <string>
#include <vector>

#include "launch/processes/spawn.hpp"
#include "launch/processes/starter.hpp"
#include "launch/run/run_journal.hpp"
#include "policies/supervision/chaos_core.hpp"

namespace tidegate::launch {

class fault_helpers {
 public:
  fault_helpers() = default;
  fault_helpers(const fault_helpers&) = delete;
  fault_helpers& operator=(const fault_helpers&) = delete;
  ~fault_helpers();

  // What fails is an event; what works `tidegate chaos` notes itself.
  void start(const policies::chaos_order& order, const starter& programs, run_journal& journal);
  void reap(run_journal& journal);
  // Undoes what is done and waits for that.
  void finish(run_journal& journal);
  // Adds a descriptor per process that becomes readable when the process ends.
  void add_to(std::vector<pollfd>& fds) const;

  bool has(pid_t pid) const;

 private:
  struct helper {
    std::string purpose;
    spawned process;
  };
  std::vector<helper> running_;
};

}  // namespace tidegate::launch
