// The processes of a run on a host: those that live, their heartbeats, the state of workers,
// spares, and what the coordinator says. Main thread only (see spawn.hpp). Ends them all when
// destroyed.
#pragma once

#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

#include "launch/plan/environment.hpp"
#include "launch/plan/plan.hpp"
#include "launch/run/heartbeats.hpp"
#include "launch/run/process_table.hpp"
#include "launch/run/ready_pipe.hpp"
#include "launch/run/result.hpp"
#include "launch/run/run_journal.hpp"
#include "launch/run/spare_processes.hpp"
#include "launch/run/starter.hpp"
#include "launch/run/worker_states.hpp"
#include "launch/shell/agent_shell.hpp"
#include "policies/model/spec.hpp"
#include "policies/supervision/hang_detector.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class run_processes final : public process_port {
 public:
  // `spec`, `programs`, `journal` and `identity` outlive it.
  run_processes(const policies::cluster_spec& spec, const starter& programs,
                run_journal& journal, const run_identity& identity);

  // What the agent of their host asks for. Errors: as process_table::start,
  // spare_processes::start, heartbeats::prepare and worker_states::prepare, io_error (no
  // descriptors).
  runtime::expected<spawned_process> spawn(const policies::agent_orders::start& start) override;
  runtime::status spawn_spare(const policies::agent_orders::start_spare& start) override;
  void end_spare(policies::spare_number spare) override { spares_.end(spare); }
  void end(const launched_process& process, bool by_force) override;
  void end_all() override;
  std::vector<policies::beat_reading> beats() override { return beats_.readings(); }

  // Adds what has become of processes and spares since the last call to the turn.
  void read(agent_turn& into);
  // Returns true if read() has something to tell that no descriptor shows.
  bool has_news() const { return is_ending_all_ && table_.list().empty() && spares_.empty(); }
  // Nobody of the epoch before lives.
  void begin_epoch() { ready_.close(); }
  // As process_table::signal.
  void signal(const process_name& process, int number) const { table_.signal(process, number); }

  std::vector<live_process> list() const { return table_.list(); }
  bool has(pid_t pid) const;
  // Returns true if orphans of the run's processes become children of the launcher.
  bool adopts() const noexcept { return adopts_; }
  // Adds descriptors that become readable when read() has something to tell.
  void add_to(std::vector<pollfd>& fds) const {
    ready_.add_to(fds);
    table_.add_to(fds);
    spares_.add_to(fds);
  }

 private:
  process_plan plan_of(const policies::agent_orders::start& start) const;
  runtime::expected<pid_t> give_place(const policies::agent_orders::start& start,
                                      const process_plan& process, const std::string& log,
                                      const start_descriptors& descriptors);

  const policies::cluster_spec& spec_;
  const starter& programs_;
  run_journal& journal_;
  const run_identity& identity_;
  process_table table_;
  ready_pipe ready_;
  launched_process coordinator_;  // that was started last
  spare_processes spares_;
  heartbeats beats_;
  worker_states states_;
  bool is_ending_all_ = false;
  bool adopts_;  // orphans: copies of spares become children of the launcher
};

}  // namespace tidegate::launch
