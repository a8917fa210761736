// One run of a cluster: the world around launch/shell/run_shell.hpp, which decides with
// policies::launch_core. It tells the shell what happens to processes, signals and the
// coordinator, and does what it asks for. Its parts have the processes, the output, faults on
// purpose and requests. Main thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "launch/agents/host_agents.hpp"
#include "launch/agents/peer_survey.hpp"
#include "launch/processes/run_processes.hpp"
#include "launch/processes/signals.hpp"
#include "launch/run/metrics_export.hpp"
#include "launch/run/run_faults.hpp"
#include "launch/run/run_journal.hpp"
#include "launch/run/run_metrics.hpp"
#include "launch/run/run_monitor.hpp"
#include "launch/run/run_output.hpp"
#include "launch/run/run_programs.hpp"
#include "launch/run/run_requests.hpp"
#include "launch/run/run_status.hpp"
#include "launch/run/run_traces.hpp"
#include "launch/run/services.hpp"
#include "launch/run/status_poller.hpp"
#include "launch/shell/inner_agent.hpp"
#include "launch/shell/run_shell.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

class run final : private run_port {
 public:
  // All but `epoch` outlive it.
  run(const policies::cluster_spec& spec, const services& cluster, const run_programs& programs,
      run_journal& journal, std::uint32_t epoch);

  // As run_output::follow_workers; before carry_out.
  runtime::status follow_workers();
  // Shows them how the run goes on; before carry_out.
  void show_to(run_outlets outlets);
  // Has spans_end written when every process has ended (launch/trace/write_trace.hpp); before
  // carry_out.
  void trace_the_end() noexcept { traces_end_ = true; }
  // Blocks until every process has ended.
  exit_code carry_out();

 private:
  void wait();
  run_turn collect();
  run_view view() const;
  void show();
  void show_to_monitor();
  void send_metrics();
  void tell_of_metrics();
  void conclude_outlets();
  void trace_waits(const policies::cluster_status& status);
  poll_news take_news();

  // What the shell asks for.
  void start_agent(const policies::host_effects::start_agent& start) override;
  void end_agent(policies::host_number host) override;
  void send(policies::agent_connection over, const policies::launcher_frame& frame) override;
  void close(policies::agent_connection connection) override;
  std::vector<agent_event> take_agent_events() override;
  void starting(const process_name& name) override { output_.starting(name); }
  void coordinator_listens(std::uint16_t port) override { identity_.port = port; }
  void watch() override;
  void unwatch() override;
  bool watches() const override { return poller_ != nullptr; }
  void poll_now() override { poller_->poll_now(); }
  std::uint64_t ask(const launch_question& question) override;
  void finish(poll_shell::job_failures failures) override;
  runtime::status record_epoch(std::uint32_t epoch) override;
  runtime::status record_cancelled(const std::string& job) override;
  void event(const std::string& subject, const std::string& detail,
             const policies::event_fields& about) override;
  runtime::status write_pids(const std::vector<live_process>& processes) override;
  void complain(const std::string& text) override { journal_.complain(text); }
  void show_log(const std::string& writer) override { output_.show_log(writer); }
  std::string last_line(const std::string& writer) override {
    return output_.last_line(writer);
  }
  void append_log(const std::string& writer, const std::string& text) override {
    output_.append_log(writer, text);
  }
  void begin_spans(const span_request& wanted) override {
    traces_end_ = traces_end_ || wanted.follows;
    traces_.begin(wanted);
  }
  void add_spans(const std::string& host,
                 const policies::agent_reports::spans& spans) override {
    traces_.add(host, spans);
  }
  void end_spans() override;
  bool traces_end() const override { return traces_end_; }
  void answer(std::uint32_t asker, const std::string& line) override;

  const policies::cluster_spec& spec_;
  const services& cluster_;
  run_journal& journal_;
  run_identity identity_;
  run_processes processes_;
  peer_survey others_;  // as the launcher's own host reaches them
  inner_agent agent_;   // of the launcher's own host
  host_agents agents_;  // of the others
  run_shell shell_;
  signal_source signals_;
  run_output output_;
  run_metrics metrics_;
  bool metrics_failed_ = false;  // which is told once
  run_faults faults_;
  std::unique_ptr<status_poller> poller_;
  run_requests requests_;
  run_traces traces_;
  bool traces_end_ = false;
  std::unique_ptr<run_monitor> monitor_;    // none: the file wants no port
  std::unique_ptr<metrics_export> export_;  // none: the file names no collector

  std::int64_t now_ = 0;  // of this turn
};

}  // namespace tidegate::launch
