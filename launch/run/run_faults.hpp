// What a run's own file wants to go wrong (policies::fault_core says when). Main thread only
// (see spawn.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <poll.h>
#include <vector>

#include "launch/processes/starter.hpp"
#include "launch/run/fault_helpers.hpp"
#include "launch/run/run_journal.hpp"
#include "launch/shell/run_shell.hpp"
#include "policies/model/spec.hpp"
#include "policies/supervision/chaos_core.hpp"
#include "policies/supervision/fault_core.hpp"

namespace tidegate::launch {

class run_faults {
 public:
  // `spec`, `programs`, `journal` and `shell` outlive it.
  run_faults(const policies::cluster_spec& spec, const starter& programs, run_journal& journal,
             run_shell& shell)
      : spec_(spec), programs_(programs), journal_(journal), shell_(shell) {}

  // The run is launched: times of faults count from now on.
  void begin(std::int64_t now);
  // Carries out the faults that are due, while jobs run; to be called after each turn.
  void cause(std::int64_t now);
  // Undoes what is done and waits for that.
  void finish() { helpers_.finish(journal_); }

  // Returns when cause() is due although nothing has happened; fault_core::never if it is not.
  std::int64_t next_wake() const;
  bool has(pid_t pid) const { return helpers_.has(pid); }
  // Adds a descriptor per helper that becomes readable when the helper ends.
  void add_to(std::vector<pollfd>& fds) const { helpers_.add_to(fds); }

 private:
  void obey(const policies::chaos_order& order);

  const policies::cluster_spec& spec_;
  const starter& programs_;
  run_journal& journal_;
  run_shell& shell_;
  std::optional<policies::fault_core> faults_;  // none: the file asks for no faults
  fault_helpers helpers_;
};

}  // namespace tidegate::launch
