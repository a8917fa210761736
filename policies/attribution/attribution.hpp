// Says which worker or shard a job waits for, and why. What the server saw decides which worker
// came last, what workers saw decides which shard answered last, and what each says of its own
// time decides why. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "policies/attribution/job_rates.hpp"

namespace tidegate::policies {

// Seconds in which a process could not run, or its host was short of memory, and pages that it
// read from a disk.
struct pressure_account {
  double stopped = 0;
  double starved = 0;
  double disk_faults = 0;
  double memory = 0;
};

// Of a worker in a period; seconds, unless it says otherwise.
struct worker_account {
  double clocks = 0;  // clocks
  double computes = 0;
  double calls = 0;
  double waits = 0;
  double credits = 0;  // of the waits: for acknowledgements
  double garbage = 0;  // of what it computes
  pressure_account pressure;
  double last = 0;  // clocks in which its push came last
  double late = 0;  // by which it came after the last but one, in sum, where that is least
};

// Of a shard, as its process and all workers saw it.
struct shard_account {
  double last = 0;   // clocks of workers in which it answered last
  double late = 0;   // by which that was after the last but one, in sum
  double waits = 0;  // for workers that came last there
  double busy = 0;
  double replica = 0;  // a step waited for its replica
  pressure_account pressure;
};

// A checkpoint that has become durable; seconds, as checkpoint_times.
struct checkpoint_account {
  std::uint64_t clock = 0;
  double seconds = 0;
  double late = 0;  // of this one, or of several that have ended in the period
  std::uint32_t shard = 0;
  double part = 0;
  double others = 0;
  double manifest = 0;
  std::uint64_t part_bytes = 0;
  std::uint64_t others_bytes = 0;
};

// Of a second, or of however long the numbers say.
struct job_period {
  std::uint64_t clock = 0;  // that the slowest worker had ended at its end
  double epoch = 0;         // of the run: what was done in an epoch before was done again
  double seconds = 0;
  std::map<std::uint32_t, worker_account> workers;  // by rank
  std::map<std::uint32_t, shard_account> shards;    // by number
  std::vector<checkpoint_account> checkpoints;
};

job_period period_of(std::uint64_t clock, const job_rates& rates);
void add(job_period& to, const job_period& more);  // but for the clock and the epoch

// A worker or a shard that others waited for, and how the others of its kind were (the median).
struct held_up_by {
  enum class party : std::uint8_t { worker, shard };
  enum class cause : std::uint8_t {
    stopped,      // its process was, by a signal or a debugger, or its host stood still
    starved,      // it was ready, and other processes had the processors
    disk_faults,  // its memory was on a disk
    memory,       // it computes, or is busy, for longer, while its host is short of memory
    garbage,      // of a worker: its language collects garbage
    computes,     // of a worker: its program is longer at work
    calls,        // of a worker: its calls take longer: it copies, or sends, more slowly
    busy,         // of a shard: its steps take longer
    replica,      // of a shard: its replica answers later
    arrives,      // what it sends comes late, though it was not late itself: its link
  };
  party kind = party::worker;
  std::uint32_t number = 0;  // the rank, or the shard's
  cause because = cause::computes;
  double comes_last = 0;      // share of the clocks
  double late_seconds = 0;    // a clock, over all clocks
  double own_seconds = 0;     // a clock, of what `because` says; faults; none of `arrives`
  double others_seconds = 0;  // likewise
  bool has_others = true;     // of its kind, to compare it with
  double of_the_time = 0;     // share of the periods in which it held the job up
  double faster = 1;  // so many times as fast the job would be, did it come with the others
};

// Somebody holds a job up if others wait for it for so much of the time, and so many times as
// long as for another: where all are alike each comes last now and then.
inline constexpr double held_up_least = 0.05;

// Returns all that hold the job up in these periods, the worst first; empty: nobody does. Who
// sends late for no reason of its own may be late for a worse one, whose answers it needs: so
// one is named for its link at most, a shard before a worker, and nobody beside one that is
// worse and says why.
std::vector<held_up_by> held_up(std::span<const job_period> periods);

}  // namespace tidegate::policies
