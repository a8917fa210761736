// Where the time of a job's workers goes. A worker knows for how long it computes, calls and
// waits; shards know when its pushes came in, of all clocks that have closed since they said so
// last: who came last, and by how much. Plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace tidegate::policies {

// Of a worker's process, since its first push. What is neither in calls nor waits, it computes.
struct worker_times {
  std::uint64_t elapsed_ns = 0;
  std::uint64_t call_ns = 0;  // in calls of the session, but for waits
  std::uint64_t wait_ns = 0;  // until something has ended

  friend bool operator==(const worker_times&, const worker_times&) = default;
};

// A clock is closed when all who take part have pushed a later one.
struct rank_arrivals {
  std::uint64_t clocks = 0;   // closed, with a push of this rank
  std::uint64_t last = 0;     // of these, in how many it came last
  std::uint64_t late_ns = 0;  // by how much it came after the last but one, in sum

  friend bool operator==(const rank_arrivals&, const rank_arrivals&) = default;
};

inline void add(rank_arrivals& to, const rank_arrivals& more) {
  to.clocks += more.clocks;
  to.last += more.last;
  to.late_ns += more.late_ns;
}

// The clock that waited longest for its last push.
struct latest_arrival {
  std::uint64_t clock = 0;
  std::uint32_t rank = 0;
  std::uint64_t late_ns = 0;  // 0: nobody was waited for

  friend bool operator==(const latest_arrival&, const latest_arrival&) = default;
};

// Of one shard or aggregator.
struct job_arrivals {
  std::uint64_t token = 0;
  std::uint64_t clocks = 0;  // closed
  std::vector<rank_arrivals> ranks;
  latest_arrival latest;

  friend bool operator==(const job_arrivals&, const job_arrivals&) = default;
};

}  // namespace tidegate::policies
