// What a worker waited for in a clock: for another worker, as the policy wants it, for the
// shard, for the network, or for room. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "launch/trace/shard_arrivals.hpp"

namespace tidegate::launch {

// A wait of a worker.
struct noted_wait {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t clock = 0;  // what was pushed in it is what it waits for
  bool for_room = false;    // what was pushed before is to be acknowledged first
};

// In nanoseconds.
struct wait_parts {
  // The policy answers once another worker has pushed: the last to come, and until it had.
  std::optional<std::uint32_t> gate_rank = {};
  std::uint64_t gate_ns = 0;
  std::uint64_t shard_ns = 0;    // the shard had what it needed, and worked
  std::uint64_t network_ns = 0;  // until the push was there, and once the answer was made
  std::uint64_t credit_ns = 0;   // for room
  std::uint64_t replica_ns = 0;  // for room, while a step waited for the shard's replica
};

// Whose wait it is, and under which policy.
struct waiter {
  std::uint64_t job = 0;  // its token
  std::uint32_t rank = 0;
  // By how many clocks a pull may be behind; nothing: nobody waits for another, or the policy
  // is not known.
  std::optional<std::uint64_t> staleness = {};
};

// When ranks began to push, by job and clock.
using push_times = std::map<std::pair<job_clock, std::uint32_t>, std::int64_t>;

// Adds a wait, whose answer came last from the shard of `at`. The parts are as long as the wait
// in sum.
void add_wait(const noted_wait& wait, const waiter& of, const push_times& pushes,
              const shard_arrivals& at, wait_parts& to);

}  // namespace tidegate::launch
