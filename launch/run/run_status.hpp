// What `tidegate status` says of a run: how its jobs go on, which processes it has, and who
// waits for whom. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launch/shell/live_process.hpp"
#include "policies/attribution/job_rates.hpp"
#include "policies/model/cluster_status.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Of a run whose launcher lives.
struct run_view {
  struct host {
    std::string name;
    std::string_view state;  // "starting", "up", "lost"
  };

  struct job {
    policies::job_status status;
    policies::job_rates rates;  // of the last seconds
  };

  std::string run_dir = {};
  std::string cluster;
  std::string version = {};  // of the launcher
  std::string_view state;    // as launch_core::phase_text()
  std::uint32_t epoch = 0;   // of the run
  std::string monitor = {};  // where it answers HTTP requests; empty: nowhere
  std::vector<job> jobs;
  std::vector<live_process> processes;
  std::vector<host> hosts;  // by the number of their agent; the launcher's own is the first
  std::vector<policies::wait_status> waits;  // the longest first
  std::vector<policies::shard_times> shards = {};
  std::vector<policies::replica_status> replicas = {};
};

// One line, without its end: the jobs as in result.json and with how far they are, processes,
// hosts and waits.
std::string status_line(const run_view& run);

// The same of a run that has ended: its state is "ended", and it has an exit_code. Errors:
// corrupt (the text is no result.json).
runtime::expected<std::string> status_of_result(const std::string& result_json);

// Returns what people read, of such a line. Errors: corrupt.
runtime::expected<std::string> status_text(const std::string& line);

}  // namespace tidegate::launch
