// The lines of metrics.jsonl as a page draws them: of each job one thinned series. Pure; one
// thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launch/page/thinned_series.hpp"

namespace tidegate::launch {

class run_history {
 public:
  static constexpr std::size_t jobs_most = 256;

  // Adds a line, without its end. A line that is not whole, or is of a job too many, is passed
  // over; one of another version is a problem().
  void add(std::string_view line);

  // In the order in which they begin.
  const std::vector<std::string>& jobs() const noexcept { return jobs_; }
  // A sentence for people, if something in the file cannot be read; else empty.
  const std::string& problem() const noexcept { return problem_; }
  // Returns null for a job without a line.
  const thinned_series* find(const std::string& job) const;

 private:
  std::vector<std::string> jobs_;
  std::map<std::string, thinned_series> series_;
  std::string problem_;
};

// Returns {"job", "position", "from", "begin_ms", columns of points from number `from` on, and
// "workers" with such columns of some workers}, as a line of JSON without its end. `since`: the
// "position" of an answer before, whose points before `from` are still right; of anything else
// all points are returned. A number that is not known is null.
std::string series_json(const std::string& job, const thinned_series& series,
                        std::string_view since);

}  // namespace tidegate::launch
