// What people and programs see of a run: lines that show how jobs go on, events about waits and
// jobs that stand still, and the result. What lines look like is progress_text.hpp. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <poll.h>
#include <string>
#include <utility>
#include <vector>

#include "launch/run/log_follower.hpp"
#include "launch/run/run_journal.hpp"
#include "launch/run/run_metrics.hpp"
#include "launch/run/run_status.hpp"
#include "launch/text/exit_code.hpp"
#include "policies/launcher/core.hpp"
#include "policies/model/cluster_status.hpp"
#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"
#include "policies/supervision/progress_watchdog.hpp"
#include "policies/supervision/wait_ledger.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class run_output {
 public:
  // `spec` and `journal` outlive it.
  run_output(const policies::cluster_spec& spec, run_journal& journal)
      : spec_(spec), journal_(journal) {}

  // Shows what workers write from now on, each line with its worker's rank in front. Errors:
  // those of log_follower::in.
  runtime::status follow_workers();
  // A process is about to be started.
  void starting(const process_name& process);
  void add_to(std::vector<pollfd>& fds) const;

  // Writes launcher.json, for whoever resumes the run, and nobody else: it has the token.
  void write_launcher(std::uint64_t token);
  // Shows how jobs go on, and for whom they wait, while they run. `view`: of the run, where
  // there is a terminal with room for it.
  void show(std::int64_t now, const policies::launch_core& core, const run_metrics& metrics,
            const std::function<run_view()>& view);
  // Shows the end of what a process, or the agent of a host, has said.
  void show_log(const std::string& writer);
  // As run_port::last_line: of its log, which may have words of those before it.
  std::string last_line(const std::string& writer) const;
  // Writes what a process of a host has written that does not share the run folder.
  void append_log(const std::string& writer, const std::string& text);
  // Takes in what a poll says of waits: how the coordinator is, and the waits that it told.
  void look_at_waits(std::int64_t now, const policies::launch_core& core,
                     const runtime::status& coordinator,
                     std::vector<policies::wait_status> waits);
  void forget_waits() { waits_.clear(); }
  const std::vector<policies::wait_status>& waits() const noexcept { return waits_; }
  // Notes jobs that stand still.
  void watch_progress(std::int64_t now, const policies::launch_core& core);
  // Writes and shows the result when every process has ended. Returns how the launcher exits.
  exit_code conclude(const policies::launch_core& core);

 private:
  bool may_follow() const;
  void show_followed(std::vector<std::string> lines);
  std::vector<std::string> job_lines(const policies::launch_core& core,
                                     const run_metrics& metrics, std::size_t width) const;
  bool may_be_resumed(const std::vector<policies::job_status>& jobs) const;

  const policies::cluster_spec& spec_;
  run_journal& journal_;
  std::optional<log_follower> follower_;
  std::map<std::string, std::uint64_t> log_begins_;  // bytes, when it was last started
  policies::progress_watchdog watchdog_;
  std::vector<policies::wait_status> waits_;  // the longest first
  policies::wait_ledger own_waits_;           // the launcher's
  std::vector<std::pair<policies::job_state, std::uint32_t>> shown_states_;
  std::int64_t drawn_at_ = 0;
};

}  // namespace tidegate::launch
