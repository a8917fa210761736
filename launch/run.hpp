// One run of a cluster: the loop around policies::launch_core, which decides. It tells the core
// what happens to processes, signals and the coordinator, and carries out what comes of it;
// what people see is made by progress_text.hpp. Main thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/command_line.hpp"
#include "launch/control_socket.hpp"
#include "launch/fault_helpers.hpp"
#include "launch/heartbeats.hpp"
#include "launch/process_table.hpp"
#include "launch/run_journal.hpp"
#include "launch/services.hpp"
#include "launch/signals.hpp"
#include "launch/starter.hpp"
#include "launch/status_poller.hpp"
#include "policies/fault_core.hpp"
#include "policies/launch_core.hpp"
#include "policies/supervision/progress_watchdog.hpp"
#include "policies/supervision/wait_ledger.hpp"

namespace tidegate::launch {

class run {
 public:
  run(const policies::cluster_spec& spec, const services& cluster, const starter& start,
      run_journal& journal, std::uint32_t epoch);

  // Blocks until every process has ended.
  exit_code carry_out();

 private:
  using effects = policies::launch_effects;

  void decide();
  void wait();
  void on_signals();
  void on_ready();
  void on_news();
  void on_ends();
  void tell_coordinator(const process_end& end);
  void on_hangs();
  // What goes wrong on purpose, run_faults.cpp.
  void on_faults();
  void obey(const policies::chaos_order& order);
  // More or fewer workers or shards, run_scaling.cpp.
  struct scaling {
    std::uint32_t from = 0;    // of control_
    std::string job;           // empty: shards
    std::uint32_t number = 0;  // of workers or shards
    bool asked = false;

    bool of_shards() const noexcept { return job.empty(); }
  };
  void on_requests();
  runtime::status read_request(const std::string& line, scaling& into) const;
  void plan_the_others();
  void ask_to_scale();
  void scaled(const runtime::status& result);

  void carry_out_effects();
  void act(const effects::start& what);
  void act(const effects::renew& what);
  void act(const effects::watch& what);
  void act(const effects::poll_now& what);
  void act(const effects::stop_cluster& what);
  void act(const effects::leave& what);
  void act(const effects::save& what);
  void act(const effects::terminate& what);
  void act(const effects::kill& what);
  void act(const effects::note& what);
  void act(const effects::complain& what);
  void act(const effects::show_log& what);
  void act(const effects::conclude& what);
  runtime::expected<pid_t> spawn_one(const effects::start& what);

  void write_launcher();
  void write_pids();
  void show();
  void look_at_waits(const runtime::status& coordinator,
                     std::vector<policies::wait_status> told);
  void watch_progress();
  bool may_be_resumed(const std::vector<policies::job_status>& jobs) const;
  exit_code conclude();

  const policies::cluster_spec& spec_;
  const services& cluster_;
  const starter& starter_;
  run_journal& journal_;
  cluster_plan plan_;
  policies::launch_core core_;
  run_identity identity_;
  signal_source signals_;
  process_table table_;
  heartbeats beats_;
  policies::progress_watchdog watchdog_;
  std::vector<policies::wait_status> waits_;  // the longest first
  policies::wait_ledger own_waits_;           // the launcher's
  std::optional<policies::fault_core> faults_;
  fault_helpers helpers_;
  runtime::unique_fd ready_;
  std::string ready_text_;
  std::unique_ptr<status_poller> poller_;
  using answered = std::function<void(const runtime::status&)>;
  void ask(status_poller::question what, answered then);
  std::map<std::uint64_t, answered> asked_;
  std::optional<control_socket> control_;
  std::deque<scaling> scalings_;  // one after the other

  std::int64_t now_ = 0;  // of this turn
  effects todo_;
  bool pids_changed_ = false;
  std::optional<effects::conclude> end_;
  std::vector<std::pair<policies::job_state, std::uint32_t>> shown_states_;
};

}  // namespace tidegate::launch
