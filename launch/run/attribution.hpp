// Says which workers and shards a job waits for, and why (policies/attribution), of the lines
// of metrics.jsonl. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/attribution/attribution.hpp"
#include "policies/attribution/late_checkpoint.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Which clocks are looked at: all of a job's, if nothing is set.
struct attribution_range {
  std::optional<std::uint64_t> clock;  // the second in which it ended
  std::uint64_t last_clocks = 0;       // so many of the last in the file
};

struct job_attribution {
  std::string job;
  std::uint64_t first_clock = 0;
  std::uint64_t last_clock = 0;
  double seconds = 0;
  std::size_t workers = 0;
  std::vector<policies::held_up_by> held_up;  // the worst first; empty: by nobody
  std::optional<policies::late_checkpoint> checkpoint;
};

// `periods`: of the job, not empty.
job_attribution attribution_of(const std::string& job,
                               const std::vector<policies::job_period>& periods);

// What the lines say of each second.
class metrics_record {
 public:
  // Adds lines; one that is not whole is passed over. Errors: invalid_argument (lines of
  // another version).
  runtime::status read(std::istream& lines);
  // In the order in which they begin.
  const std::vector<std::string>& jobs() const noexcept { return jobs_; }
  // Errors: not_found (nothing of the job, or of these clocks).
  runtime::expected<job_attribution> attribute(const std::string& job,
                                               const attribution_range& range) const;

 private:
  std::vector<std::string> jobs_;
  std::map<std::string, std::vector<policies::job_period>> periods_;  // by job
};

// "worker 2 holds the job up by 29.8 ms a clock: ...": sentences, the last without its end.
std::string to_text(const policies::held_up_by& of);
std::string to_text(const policies::late_checkpoint& of);
// All of a job, the worst first; empty: nobody holds it up.
std::vector<std::string> reasons_text(const job_attribution& of);
// What people read, and a line of JSON without its end.
std::string attribution_text(const job_attribution& of);
std::string attribution_json(const job_attribution& of);

}  // namespace tidegate::launch
