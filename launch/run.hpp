// One run of a cluster: the loop that starts processes, watches them, and ends them. What an
// event means is decided by verdict.hpp; what people see is made by progress_text.hpp. Main
// thread only.
//
//   starting --coordinator ready--> running --all jobs done--> leaving --workers gone-->
//   stopping
//       \________________________________\__a failure or a signal__________\____________>
//       ending
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launch/command_line.hpp"
#include "launch/process_table.hpp"
#include "launch/run_journal.hpp"
#include "launch/services.hpp"
#include "launch/signals.hpp"
#include "launch/starter.hpp"
#include "launch/status_poller.hpp"

namespace tidegate::launch {

class run {
 public:
  run(const policies::cluster_spec& spec, const services& cluster, const starter& start,
      run_journal& journal);

  // Blocks until every process has ended.
  exit_code carry_out();

 private:
  enum class phase { starting, running, leaving, stopping, ending };
  struct unjudged {
    process_end end;
    std::uint64_t ticket = 0;      // judged once a status that answers it is there,
    std::int64_t deadline_ms = 0;  // or at this time
  };

  void start_coordinator();
  void start_rest();
  bool start_one(const process_plan& process, int ready_fd);
  void wait();
  void on_signals();
  void on_ready();
  void on_ends();
  void on_news();
  void judge_ends();
  void check_jobs();
  void advance();
  void show();
  exit_code conclude();

  void begin_end(exit_code outcome, const std::string& reason);
  void process_died(const process_end& end);
  void write_pids();
  bool is_over() const { return phase_ >= phase::stopping && table_.empty(); }
  bool is_watching() const { return phase_ <= phase::leaving; }

  const policies::cluster_spec& spec_;
  const services& cluster_;
  const starter& starter_;
  run_journal& journal_;
  cluster_plan plan_;
  run_identity identity_;
  signal_source signals_;
  process_table table_;
  unique_fd ready_;
  std::string ready_text_;
  std::unique_ptr<status_poller> poller_;

  phase phase_ = phase::starting;
  exit_code outcome_ = exit_code::done;
  std::string reason_;
  std::vector<policies::job_status> jobs_;
  std::uint64_t answered_ = 0;
  bool unhealthy_ = false;
  std::vector<unjudged> unjudged_;
  std::int64_t now_ms_ = 0;
  std::int64_t started_ms_ = 0;       // the coordinator, then the workers
  std::int64_t failure_seen_ms_ = 0;  // 0: no job has failed
  std::int64_t workers_gone_ms_ = 0;  // 0: a job that is not done has workers
  std::int64_t term_ms_ = 0;          // when SIGTERM is due; 0: not, or sent
  std::int64_t kill_ms_ = 0;
  std::vector<std::pair<policies::job_state, std::uint32_t>> shown_states_;
};

}  // namespace tidegate::launch
