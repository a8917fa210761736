// How fast a job has gone in the last seconds, and where its workers' time went: differences of
// what polls tell, over a window. Pure; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "policies/model/cluster_status.hpp"

namespace tidegate::launch {

// Shares are of the worker's time, 0 to 1; together they are 1, or all are 0 where nothing is
// known yet.
struct worker_rates {
  std::uint32_t rank = 0;
  double clocks_per_second = 0;
  double samples_per_second = 0;
  double computes = 0;
  double calls = 0;  // in calls of the session, but for waits
  double waits = 0;
  // Of the clocks that have closed, the share in which its push came last, and by how much on
  // average then.
  double comes_last = 0;
  double late_seconds = 0;
};

struct job_rates {
  double seconds = 0;            // that the window covers; 0: nothing is known
  double clocks_per_second = 0;  // of the slowest worker
  double samples_per_second = 0;
  std::vector<worker_rates> workers;  // as job_status::members
};

class rate_window {
 public:
  static constexpr std::int64_t length_ns = 5'000'000'000;

  // What a poll has told at this time, which does not go back.
  void add(std::int64_t now, const policies::job_status& job);
  job_rates rates() const;

 private:
  struct sample {
    std::int64_t at = 0;
    std::uint64_t clock = 0;  // of the slowest
    std::vector<policies::worker_status> members;
  };
  worker_rates rates_of(const policies::worker_status& now) const;

  std::deque<sample> samples_;  // of the window, the newest last
};

}  // namespace tidegate::launch
