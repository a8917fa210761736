// How a job has gone on, second by second, in bounded memory: where a run is long, points that
// lie beside each other are merged, so that the whole of it stays visible. Pure; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tidegate::launch {

// Of a worker in the time of a point. Times are in seconds.
struct worker_share {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;  // at the end
  double seconds = 0;       // in which it is known where its time went
  double clocks = 0;
  double computes = 0;
  double calls = 0;
  double waits = 0;
  double seen = 0;  // clocks of which it is known whose push came last
  double late = 0;  // in sum, of pushes that came last
  double last = 0;  // clocks in which its push came last
};

struct series_point {
  // Merged points keep these many workers: those whose pushes came latest.
  static constexpr std::size_t workers_most = 16;

  std::int64_t begin_ms = 0;  // Unix time
  std::int64_t end_ms = 0;
  double seconds = 0;                                  // that rates are of
  std::uint64_t lines = 1;                             // of metrics.jsonl
  std::uint64_t slowest = 0, median = 0, fastest = 0;  // clocks, at the end
  double clocks = 0;
  double samples = 0;
  double known = 0;  // seconds in which it is known where time went
  // Means over all workers and their tenths from below and above, times these.
  double computes = 0, calls = 0, waits = 0, waits_low = 0, waits_high = 0;
  std::uint64_t staleness = 0;
  std::optional<double> loss;
  std::map<std::string, double> metrics;  // that workers report under names of theirs
  std::vector<worker_share> workers;      // ascend in rank
  std::size_t workers_count = 0;          // also of those that are left out
};

// Appends what follows it in time.
void merge(series_point& to, const series_point& more);
// Leaves workers_most workers, those that were late for longest.
void keep_latest(series_point& point);

class thinned_series {
 public:
  static constexpr std::size_t points_most = 480;
  static constexpr std::size_t ranks_most = 8;

  // `most`: an even number of points.
  explicit thinned_series(std::size_t most = points_most) : most_(most) {}

  // Adds what follows in time.
  void add(series_point point);

  const std::vector<series_point>& points() const noexcept { return points_; }
  // Workers whose lines are worth a look: all, or those that were late for longest. They
  // ascend.
  const std::vector<std::uint32_t>& ranks() const noexcept { return ranks_; }
  // Grows when points that were there have changed, but for the last, or ranks() has.
  std::uint64_t generation() const noexcept { return generation_; }

 private:
  void choose_ranks();

  std::size_t most_;
  std::vector<series_point> points_;
  std::uint64_t lines_per_point_ = 1;
  std::uint64_t generation_ = 1;
  std::vector<std::uint32_t> ranks_;
  std::size_t chosen_after_ = 0;  // points
};

}  // namespace tidegate::launch
