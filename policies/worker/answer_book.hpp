// Notes when shards answer the pulls and pushes of a worker, and says of each clock which shard
// came last: what sharding::arrival_book is to a shard. Pure; allocates when it is made, and
// not later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/model/arrivals.hpp"
#include "policies/model/last_comer.hpp"

namespace tidegate::policies {

class answer_book {
 public:
  explicit answer_book(std::size_t shards) : times_(shards), sums_(shards) {}

  // Returns true if there is more than one shard: with one, nothing can be compared, and
  // nobody needs to read a clock for it.
  bool is_kept() const noexcept { return times_.size() > 1; }
  // An answer of the shard has come, while the worker is at `clock`. `now`: by whatever clock
  // says what is late; not negative. Returns true if that closed the clock before.
  bool came(std::uint32_t shard, std::uint64_t clock, std::int64_t now) {
    const bool closes = clock != clock_;
    if (closes) close_clock(times_, sums_);
    clock_ = clock;
    times_[shard] = now + 1;
    return closes;
  }
  // By shard, of all clocks that have closed.
  std::span<const rank_arrivals> sums() const noexcept { return sums_; }

 private:
  std::vector<std::int64_t> times_;  // of the last answer in this clock, by shard; 0: none
  std::vector<rank_arrivals> sums_;
  std::uint64_t clock_ = 0;
};

}  // namespace tidegate::policies
