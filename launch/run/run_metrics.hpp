// RUN_DIR/metrics.jsonl: how each job that runs has gone on, a line for each in a second.
// docs/observing.md has its fields. One thread; the file is kept below a size, with one before
// it (metrics.1.jsonl).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "policies/attribution/attribution.hpp"
#include "policies/attribution/job_rates.hpp"
#include "policies/model/cluster_status.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

inline constexpr int metrics_version = 1;

// A line, without its end. Pure.
std::string metrics_line(std::int64_t unix_ns, std::uint32_t epoch,
                         const policies::job_status& job, const policies::job_rates& rates);

class run_metrics {
 public:
  explicit run_metrics(std::string run_dir, std::uint64_t bytes_max = std::uint64_t{64} << 20U)
      : run_dir_(std::move(run_dir)), bytes_max_(bytes_max) {}

  // What a poll has told. Adds a line for each job that runs, if a second has passed since the
  // last ones. Errors: io_error; what could not be written is left out.
  runtime::status add(std::int64_t now, std::int64_t unix_ns,
                      const policies::cluster_status& status);
  // Of a job in the last seconds; nothing is known of one that does not run.
  const policies::job_rates& rates(const std::string& job) const;
  // What the last lines of a job that runs say: half a minute of them, the newest last.
  std::vector<policies::job_period> last_periods(const std::string& job) const;
  // By number, as they told last.
  const std::vector<policies::shard_times>& shards() const noexcept { return shards_; }
  const std::vector<policies::replica_status>& replicas() const noexcept { return replicas_; }

 private:
  runtime::status write(const std::string& lines);
  runtime::status open();

  std::string run_dir_;
  std::uint64_t bytes_max_;
  struct windows {
    policies::rate_window last_seconds;
    policies::rate_window since_line;  // since the last line
    policies::job_rates rates;         // of the last seconds
    std::deque<policies::job_period> periods;
  };

  std::map<std::string, windows> windows_;  // of jobs that run
  std::vector<policies::shard_times> shards_;
  std::vector<policies::replica_status> replicas_;
  // Whose words these are: another coordinator knows nothing yet of what was before.
  std::pair<std::uint32_t, std::uint32_t> coordinator_;  // epoch, incarnation
  runtime::unique_fd file_;
  std::uint64_t bytes_ = 0;
  std::int64_t written_at_ = 0;
};

}  // namespace tidegate::launch
