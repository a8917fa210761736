// Clocks of a run that goes on, each once, of spans that are asked for again and again. Pure;
// one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launch/trace/clock_records.hpp"
#include "launch/trace/process_spans.hpp"

namespace tidegate::launch {

class clock_follower {
 public:
  // Of this job alone; empty: of all.
  explicit clock_follower(std::string job) : job_(std::move(job)) {}

  // Returns what all workers have ended and was not returned before; `is_last`: and what some
  // of them have. A worker that has noted nothing for ten seconds while others have is not
  // waited for: it has finished, or left, or does not come back.
  std::vector<clock_record> take(const spans_file& file, bool is_last);
  // Clocks between those that were returned, of which rings have kept nothing.
  std::uint64_t lost() const noexcept { return lost_; }
  // Returns in how many nanoseconds to ask again, half of the time that the file reaches back
  // for each process: from a fifth of a second to ten seconds.
  std::int64_t rest_ns() const noexcept { return rest_ns_; }

 private:
  void find_rest(const spans_file& file);

  std::string job_;
  std::map<std::string, std::uint64_t> next_;  // of jobs that something was told of
  std::uint64_t lost_ = 0;
  std::int64_t rest_ns_ = 0;
};

}  // namespace tidegate::launch
