// One run of a cluster: the world around launch/shell/run_shell.hpp, which decides with
// policies::launch_core. It tells the shell what happens to processes, signals and the
// coordinator, and does what it asks for; what people see is made by progress_text.hpp. Main
// thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/run/control_socket.hpp"
#include "launch/run/fault_helpers.hpp"
#include "launch/run/heartbeats.hpp"
#include "launch/run/process_table.hpp"
#include "launch/run/run_journal.hpp"
#include "launch/run/services.hpp"
#include "launch/run/signals.hpp"
#include "launch/run/starter.hpp"
#include "launch/run/status_poller.hpp"
#include "launch/shell/run_shell.hpp"
#include "launch/text/exit_code.hpp"
#include "policies/supervision/fault_core.hpp"
#include "policies/supervision/progress_watchdog.hpp"
#include "policies/supervision/wait_ledger.hpp"

namespace tidegate::launch {

class run final : private run_port {
 public:
  run(const policies::cluster_spec& spec, const services& cluster, const starter& start,
      run_journal& journal, std::uint32_t epoch);

  // Blocks until every process has ended.
  exit_code carry_out();

 private:
  void wait();
  run_turn collect();
  void read_ready(run_turn& into);
  poll_news take_news();
  void read_requests(run_turn& into);
  runtime::status read_request(const std::string& line, scale_request& into) const;
  // What goes wrong on purpose, run_faults.cpp.
  void cause_faults();
  void obey(const policies::chaos_order& order);

  // What the shell asks for.
  runtime::expected<std::string> spawn(const policies::launch_effects::start& start) override;
  void end(const launched_process& process, bool by_force) override;
  std::vector<policies::beat_reading> beats() override { return beats_.readings(); }
  void watch() override;
  void unwatch() override;
  bool watches() const override { return poller_ != nullptr; }
  void poll_now() override { poller_->poll_now(); }
  std::uint64_t ask(const launch_question& question) override;
  void finish(poll_shell::job_failures failures) override;
  runtime::status record_epoch(std::uint32_t epoch) override;
  void event(const std::string& subject, const std::string& detail) override;
  runtime::status write_pids() override;
  void complain(const std::string& text) override { journal_.complain(text); }
  void show_log(policies::process_number process) override;
  void answer(std::uint32_t asker, const std::string& line) override;

  runtime::expected<pid_t> spawn_one(const policies::launch_effects::start& start);
  void plan_the_others();
  void write_launcher();
  void show();
  void look_at_waits(const runtime::status& coordinator,
                     std::vector<policies::wait_status> status);
  void watch_progress();
  bool may_be_resumed(const std::vector<policies::job_status>& jobs) const;
  exit_code conclude();

  const policies::cluster_spec& spec_;
  const services& cluster_;
  const starter& starter_;
  run_journal& journal_;
  cluster_plan plan_;
  run_shell shell_;
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
  std::optional<control_socket> control_;

  std::int64_t now_ = 0;  // of this turn
  std::vector<std::pair<policies::job_state, std::uint32_t>> shown_states_;
};

}  // namespace tidegate::launch
