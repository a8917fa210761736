// How fast a job has gone in the last seconds, and where the time of its workers and shards
// went: differences of what polls tell, over a window. Pure; one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "policies/model/cluster_status.hpp"

namespace tidegate::policies {

// Shares of a process's time in which it could not run, 0 to 1.
struct pressure_rates {
  double stopped = 0;      // by a signal or a debugger, or its host stood still
  double starved = 0;      // ready, without a processor
  double disk_faults = 0;  // a second: pages that had to be read from a disk
  double memory = 0;       // in which something on its host waited for memory
};

// Shares are of the worker's time, 0 to 1; the first three together are 1, or all are 0 where
// nothing is known yet.
struct worker_rates {
  std::uint32_t rank = 0;
  // That shares are of: what the worker has told of in the window, which is no more than whole
  // clocks.
  double seconds = 0;
  double clocks = 0;  // that it has ended in the window, as far as that is known
  double clocks_per_second = 0;
  double samples_per_second = 0;
  double computes = 0;
  double calls = 0;  // in calls of the session, but for waits
  double waits = 0;
  double credits = 0;  // of the waits: for what it pushed to be acknowledged
  double garbage = 0;  // of what it computes: its language's collector of garbage
  pressure_rates pressure;
  // Of the clocks that have closed, the share in which its push came last, and by how much on
  // average then.
  double comes_last = 0;
  double late_seconds = 0;
  double late = 0;  // seconds in the window, as worker_status::least_late_ns

  // By how much it came last, in seconds, over all clocks of the window.
  double late_per_clock() const noexcept { return clocks > 0 ? late / clocks : 0; }
};

// Of a shard, as the job's workers and its process saw it. All 0 where nothing is known.
struct shard_rates {
  std::uint32_t shard = 0;
  double seconds = 0;  // that shares are of, as of workers
  // Of the clocks of workers, the share in which it answered last, and by how much on average
  // then; of one shard alone, none.
  double answers_last = 0;
  double late_seconds = 0;
  double waits = 0;                // seconds in the window: for workers that came last
  double busy = 0;                 // share of the time of its process, as the next
  double replica = 0;              // in which a step waited for its replica
  double bytes_in_per_second = 0;  // as shard_times, as the next
  double bytes_out_per_second = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t pushes_held = 0;
  bool in_place = false;  // gradients have come, and no parameters were ever sent
  pressure_rates pressure;
};

// Of a process that follows in the chain of a shard, as its replica. Shares are of its time.
struct replica_rates {
  std::uint32_t shard = 0;
  std::string process;  // its name
  double seconds = 0;   // that shares are of
  double busy = 0;
  double bytes_in_per_second = 0;  // of steps, that came or were read in place
  std::uint64_t resident_bytes = 0;
  pressure_rates pressure;
};

struct job_rates {
  double seconds = 0;            // that the window covers; 0: nothing is known
  double clocks_per_second = 0;  // of the slowest worker
  double samples_per_second = 0;
  std::vector<worker_rates> workers;    // as job_status::members
  std::vector<shard_rates> shards;      // as cluster_status::shards
  std::vector<replica_rates> replicas;  // likewise
  // The last that has become durable in the window; by how much too late all of them were.
  std::optional<checkpoint_times> checkpoint;
};

class rate_window {
 public:
  static constexpr std::int64_t length_ns = 5'000'000'000;

  // What a poll has told at this time, which does not go back, of the job, of all shards and of
  // their replicas.
  void add(std::int64_t now, const job_status& job, const std::vector<shard_times>& shards,
           const std::vector<replica_status>& replicas);
  job_rates rates() const;

 private:
  struct sample {
    std::int64_t at = 0;
    std::uint64_t clock = 0;  // of the slowest
    std::vector<worker_status> members;
    std::vector<rank_arrivals> answers;  // by shard, as the next two
    std::vector<std::uint64_t> waited_ns;
    std::vector<shard_times> shards;
    std::vector<replica_status> replicas;
    checkpoint_times checkpointing;
  };
  worker_rates rates_of(const worker_status& now) const;
  shard_rates rates_of_shard(std::size_t shard) const;
  // What a process says of itself; `times_in`: what it had told by a sample, or null.
  template <class TimesIn>
  void add_process_rates(const TimesIn& times_in, shard_rates& to) const;
  replica_rates rates_of_replica(const replica_status& now) const;

  std::deque<sample> samples_;  // of the window, the newest last
};

}  // namespace tidegate::policies
