// Lets ranks leave their job for good, or join it while it runs. Before a rank joins, every
// chunk is held at the clock that the rank begins with, so that no worker comes
// so far that it should have waited for that rank. One thread.
#pragma once

#include <cstdint>
#include <map>

#include "policies/consistency/consistency.hpp"
#include "policies/model/clock_vector.hpp"
#include "policies/model/membership_schedule.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/records.hpp"

namespace tidegate::policies::sharding {

struct shard_state;

class join_barrier {
 public:
  explicit join_barrier(shard_state& state) : state_(state) {}

  // Refuses frames of a rank that leaves for good.
  void shut_out(std::uint64_t token, std::uint32_t rank);
  // Returns the first clock of which no chunk here has a push of the rank, in its order.
  std::uint64_t pushed_below(std::uint64_t token, std::uint32_t rank) const;
  // Blocks every worker at `clock` until change_membership() or the next hold(), so that `rank`
  // may join there. Returns 0 on success; if some chunk is already past `clock`, returns a
  // clock that a chunk has come to and holds nothing. A clock of infinity lifts the hold.
  std::uint64_t hold(std::uint64_t token, std::uint64_t clock, std::uint32_t rank,
                     shard_effects& out);
  // Changes who pushes. What a rank that leaves has not pushed of the clocks before is left
  // out. Returns false if the change is known.
  bool change_membership(std::uint64_t token, const membership_change& change,
                         shard_effects& out);

  // Lets a chunk that is opened, or whose process is promoted, wait as others do.
  void begin_hold(const job_record& job, consistency_policy& policy) const;

 private:
  // Clocks behind wait for the rank as if it had joined; infinity if none is to join.
  struct held_clock {
    std::uint32_t rank = 0;
    std::uint64_t clock = clock_vector::infinity;
  };

  void set_hold(const job_record& job, std::uint32_t rank, std::uint64_t clock,
                shard_effects& out);
  static std::uint64_t closed_below(const chunk_record& chunk);
  std::uint64_t beyond(const job_record& job, std::uint64_t clock, std::uint32_t rank) const;
  void has_left(job_record& job, std::uint32_t rank, shard_effects& out);
  void has_joined(job_record& job, const membership_change& change, shard_effects& out);

  shard_state& state_;
  std::map<std::uint64_t, held_clock> holds_;  // by job
};

}  // namespace tidegate::policies::sharding
