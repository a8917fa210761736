// Where the time of a job goes. A worker knows for how long it computes, calls and waits, and
// which shard answered last; shards know when pushes came in, of all clocks that have closed
// since they said so last: who came last, and by how much. Plain values.
#pragma once

#include <cstdint>
#include <vector>

namespace tidegate::policies {

// What has kept a process from running though it had work.
struct process_pressure {
  std::uint64_t stopped_ns = 0;   // by a signal or a debugger, or its host stood still
  std::uint64_t starved_ns = 0;   // its thread was ready, and had no processor
  std::uint64_t disk_faults = 0;  // pages that had to be read from a disk
  // For so long something on its host could not go on for want of memory.
  std::uint64_t memory_ns = 0;

  friend bool operator==(const process_pressure&, const process_pressure&) = default;
};

// Of a worker's process, since its first push. What is neither in calls nor waits, it computes.
struct worker_times {
  std::uint64_t elapsed_ns = 0;
  std::uint64_t call_ns = 0;     // in calls of the session, but for waits
  std::uint64_t wait_ns = 0;     // until something has ended
  std::uint64_t credit_ns = 0;   // of the waits: for what it pushed to be acknowledged
  std::uint64_t garbage_ns = 0;  // of what it computes: its language's collector of garbage
  process_pressure pressure;

  friend bool operator==(const worker_times&, const worker_times&) = default;
};

// Of the process of a shard, replica or aggregator, since its first frame.
struct shard_times {
  std::uint64_t process = 0;  // the coordinator tells one process from another by it
  std::uint64_t elapsed_ns = 0;
  std::uint64_t busy_ns = 0;     // with frames of workers and of its chain, and with steps
  std::uint64_t replica_ns = 0;  // in which a step waited for its replica
  std::uint64_t bytes_in = 0;    // of gradients, that came or were read in place
  std::uint64_t bytes_out = 0;   // of parameters that were sent
  // As of now: of the process in memory, and pushes that wait for a step.
  std::uint64_t resident_bytes = 0;
  std::uint64_t pushes_held = 0;
  process_pressure pressure;

  friend bool operator==(const shard_times&, const shard_times&) = default;
};

// Of those that a clock waits for, ranks of workers, or shards that answer. A clock is closed
// when all who take part have pushed a later one.
struct rank_arrivals {
  std::uint64_t clocks = 0;   // closed, in which it came
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
  std::uint64_t closed_below = 0;  // all clocks below are
  // By how much a rank came last: of each clock, or, where those are many, in sum over so many,
  // 1 << span_log2, from a multiple of that on. Ascending in clock and rank.
  std::uint32_t span_log2 = 0;
  std::vector<latest_arrival> late;

  friend bool operator==(const job_arrivals&, const job_arrivals&) = default;
};

// What a shard or aggregator tells of its jobs.
struct shard_report {
  std::vector<job_arrivals> closed;  // of jobs of which clocks have closed
  shard_times times;

  friend bool operator==(const shard_report&, const shard_report&) = default;
};

}  // namespace tidegate::policies
