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
#include "launch/run/spare_processes.hpp"
#include "launch/run/starter.hpp"
#include "launch/run/worker_states.hpp"
#include "launch/shell/run_shell.hpp"
#include "policies/model/spec.hpp"
#include "policies/supervision/hang_detector.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

struct started_process {
  pid_t pid = -1;
  bool was_spare = false;
};

class run_processes {
 public:
  // `spec`, `programs` and `journal` outlive it.
  run_processes(const policies::cluster_spec& spec, const starter& programs,
                run_journal& journal, cluster_plan plan);

  // Plans the processes that follow those of the plan: `names` has all of them, by number.
  void plan_later(const std::vector<process_name>& names);
  // Starts a process that is planned. `ready`: the descriptor by which a coordinator says that
  // it listens, -1 for none. A spare that is named takes the place if it lives. Errors: as
  // process_table::start, heartbeats::prepare and worker_states::prepare.
  runtime::expected<started_process> start(const policies::launch_effects::start& start,
                                           const run_identity& run, int ready, bool beats);
  // Starts a spare. Errors: as spare_processes::start.
  runtime::status start_spare(const policies::launch_effects::start_spare& start,
                              const run_identity& run);
  void end_spare(policies::spare_number spare) { spares_.end(spare); }
  // Adds what has become of processes and spares since the last call to the turn.
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
  bool has(pid_t pid) const;
  // Returns true if orphans of the run's processes become children of the launcher.
  bool adopts() const noexcept { return adopts_; }
  // Adds descriptors that become readable when reap() has something to tell.
  void add_to(std::vector<pollfd>& fds) const {
    table_.add_to(fds);
    spares_.add_to(fds);
  }

 private:
  runtime::expected<pid_t> give_place(const policies::launch_effects::start& start,
                                      const process_plan& process, const run_identity& run,
                                      const std::string& log,
                                      const start_descriptors& descriptors);

  const policies::cluster_spec& spec_;
  const starter& programs_;
  run_journal& journal_;
  cluster_plan plan_;
  process_table table_;
  spare_processes spares_;
  heartbeats beats_;
  worker_states states_;
  bool adopts_;  // orphans: copies of spares become children of the launcher
};

}  // namespace tidegate::launch
