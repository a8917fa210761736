// Says which workers a job waits for, and why, of the lines of metrics.jsonl. What the server
// saw decides who came last; what workers say of their time decides why. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Which clocks are looked at: all of a job's, if nothing is set.
struct attribution_range {
  std::optional<std::uint64_t> clock;  // the second in which it ended
  std::uint64_t last_clocks = 0;       // so many of the last in the file
};

// What a worker did in a clock, on average, and how the others were (the median).
struct held_up_by {
  enum class cause : std::uint8_t {
    computes,  // its program is longer at work
    calls,     // its calls take longer: it copies, or sends, more slowly
    arrives,   // its pushes come late, though it made them in time: its link, or its host
  };
  std::uint32_t rank = 0;
  cause because = cause::computes;
  double comes_last = 0;      // share of the clocks
  double late_seconds = 0;    // a clock, over all clocks
  double own_seconds = 0;     // a clock, of what `because` says; none of `arrives`
  double others_seconds = 0;  // likewise
  double of_the_time = 0;     // share of the lines in which it held the job up
  double faster = 1;  // so many times as fast the job would be, did it come with the others
};

struct job_attribution {
  std::string job;
  std::uint64_t first_clock = 0;
  std::uint64_t last_clock = 0;
  double seconds = 0;
  std::size_t workers = 0;
  std::vector<held_up_by> held_up;  // the worst first; empty: by nobody
};

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

  // Of a worker, in a second or in many.
  struct account {
    double clocks = 0;
    double computes = 0;  // seconds, as are the next
    double calls = 0;
    double waits = 0;
    double late = 0;
    double last = 0;  // clocks
  };
  using accounts = std::map<std::uint32_t, account>;  // by rank
  struct sample {
    std::uint64_t clock = 0;
    double epoch = 0;
    double seconds = 0;
    accounts workers;
  };

 private:
  std::vector<std::string> jobs_;
  std::map<std::string, std::vector<sample>> samples_;  // by job
};

// "worker 2 came last in 90% of the clocks, ...": a sentence without its end.
std::string to_text(const held_up_by& worker);
// What people read, and a line of JSON without its end.
std::string attribution_text(const job_attribution& of);
std::string attribution_json(const job_attribution& of);

}  // namespace tidegate::launch
