// The processes of a run: the plan of each, those that live, and their heartbeats. Main thread
// only (see spawn.hpp). Ends them all when destroyed.
#pragma once

#include <poll.h>
#include <sys/types.h>
#include <vector>

#include "launch/plan/environment.hpp"
#include "launch/plan/plan.hpp"
#include "launch/run/heartbeats.hpp"
#include "launch/run/process_table.hpp"
#include "launch/run/result.hpp"
#include "launch/run/run_journal.hpp"
#include "launch/run/starter.hpp"
#include "launch/run/worker_states.hpp"
#include "launch/shell/run_shell.hpp"
#include "policies/model/spec.hpp"
#include "policies/supervision/hang_detector.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class run_processes {
 public:
  // `spec`, `programs` and `journal` outlive it.
  run_processes(const policies::cluster_spec& spec, const starter& programs,
                run_journal& journal, cluster_plan plan);

  // Plans the processes that follow those of the plan: `names` has all of them, by number.
  void plan_later(const std::vector<process_name>& names);
  // Starts a process that is planned. `ready`: the descriptor by which a coordinator says that
  // it listens, -1 for none. Returns its pid. Errors: as process_table::start,
  // heartbeats::prepare and worker_states::prepare.
  runtime::expected<pid_t> start(const policies::launch_effects::start& start,
                                 const run_identity& run, int ready, bool beats);
  // Adds the ends of processes since the last call to the turn.
  void reap(run_turn& into);
  // As process_table::signal.
  void signal(const launched_process& process, int number) const {
    table_.signal(process, number);
  }
  void signal(const process_name& process, int number) const { table_.signal(process, number); }

  const process_name& name(policies::process_number process) const {
    return plan_.processes[process].name;
  }
  std::vector<live_process> list() const { return table_.list(); }
  std::vector<policies::beat_reading> beats() const { return beats_.readings(); }
  // Adds a descriptor per process that becomes readable when the process ends.
  void add_to(std::vector<pollfd>& fds) const { table_.add_to(fds); }

 private:
  const policies::cluster_spec& spec_;
  const starter& programs_;
  run_journal& journal_;
  cluster_plan plan_;
  process_table table_;
  heartbeats beats_;
  worker_states states_;
};

}  // namespace tidegate::launch
