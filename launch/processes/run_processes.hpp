// The processes that an agent has started: those that live, their heartbeats, the state of
// workers, spares, and what the coordinator says. Main thread only (see spawn.hpp). Ends them
// all when destroyed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

#include "launch/plan/environment.hpp"
#include "launch/plan/plan.hpp"
#include "launch/processes/heartbeats.hpp"
#include "launch/processes/process_table.hpp"
#include "launch/processes/ready_pipe.hpp"
#include "launch/processes/span_rings.hpp"
#include "launch/processes/spare_processes.hpp"
#include "launch/processes/starter.hpp"
#include "launch/processes/worker_states.hpp"
#include "launch/shell/agent_shell.hpp"
#include "policies/model/spec.hpp"
#include "policies/supervision/hang_detector.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class run_processes final : public process_port {
 public:
  // `spec` and `programs` outlive it. `hosts`: the agent's, by their names in the cluster; what
  // has another home counts as on the first of them. `run`: its port and epoch are told by
  // orders.
  run_processes(const policies::cluster_spec& spec, const starter& programs,
                std::vector<std::string> hosts, const run_identity& run);

  // What the agent of their host asks for. Errors: as process_table::start,
  // spare_processes::start, heartbeats::prepare and worker_states::prepare, io_error (no
  // descriptors).
  runtime::expected<spawned_process> spawn(const policies::agent_orders::start& start) override;
  runtime::status spawn_spare(const policies::agent_orders::start_spare& start) override;
  void end_spare(policies::spare_number spare) override { spares_.end(spare); }
  void signal(const launched_process& process, process_signal content) override;
  void state_mirrored(const launched_process& process, std::uint64_t number) override {
    states_.mirrored(process, number);
  }
  std::vector<policies::agent_reports::spans> spans(std::size_t most) override {
    return rings_.read(most / std::max<std::size_t>(1, rings_.size()));
  }
  void end_all() override;
  std::vector<policies::beat_reading> beats() override { return beats_.readings(); }

  // Adds what has become of processes and spares since the last call to the turn.
  void read(agent_turn& into);
  // Returns true if read() has something to tell that no descriptor shows.
  bool has_news() const { return !notes_.empty() || have_all_ended(); }
  bool has(pid_t pid) const;
  // Returns true if orphans of these processes become children of this one.
  bool adopts() const noexcept { return adopts_; }
  // Adds descriptors that become readable when read() has something to tell.
  void add_to(std::vector<pollfd>& fds) const {
    ready_.add_to(fds);
    table_.add_to(fds);
    spares_.add_to(fds);
    states_.add_to(fds);
  }

 private:
  bool have_all_ended() const { return is_ending_all_ && table_.is_empty() && spares_.empty(); }
  process_plan at_home(process_plan process) const;
  int memory_for_spans(const launched_process& process, const process_name& name);
  process_plan plan_of(const policies::agent_orders::start& start) const;
  runtime::expected<pid_t> start_program(const policies::agent_orders::start& start,
                                         const process_plan& process, const std::string& log,
                                         const start_descriptors& descriptors);
  runtime::expected<pid_t> give_place(const policies::agent_orders::start& start,
                                      const process_plan& process, const std::string& log,
                                      const start_descriptors& descriptors);

  const policies::cluster_spec& spec_;
  const starter& programs_;
  std::vector<std::string> hosts_;
  run_identity identity_;
  process_table table_;
  ready_pipe ready_;
  launched_process coordinator_;  // that was started last
  spare_processes spares_;
  heartbeats beats_;
  span_rings rings_;
  worker_states states_;
  std::vector<policies::agent_report> notes_;  // since the last read()
  bool is_ending_all_ = false;
  bool adopts_;  // orphans: copies of spares become children of this process
};

}  // namespace tidegate::launch
