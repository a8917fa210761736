// How many clocks of each worker are in, and the minimum over those still running. A finished
// worker counts as infinitely far. One thread; one allocation, when the first clock comes in.
#pragma once

#include <cstdint>

#include "policies/model/per_rank.hpp"

namespace tidegate::policies {

class clock_vector {
 public:
  static constexpr std::uint64_t infinity = ~std::uint64_t{0};

  explicit clock_vector(std::uint32_t workers);  // all at 0; workers >= 1

  std::uint32_t workers() const noexcept { return through_.size(); }
  // Returns the first clock of this rank that is not in; infinity once it has finished.
  std::uint64_t through(std::uint32_t rank) const noexcept { return through_.at(rank); }
  // Returns the minimum of through() over all ranks; infinity once all have finished.
  std::uint64_t min() const noexcept { return min_; }

  // Takes in that all clocks of `rank` below `through` are in; never goes back (asserted).
  void advance(std::uint32_t rank, std::uint64_t through);
  void finish(std::uint32_t rank) { advance(rank, infinity); }
  // Has a finished rank begin anew, not below the minimum of the others: it holds nobody up.
  void begin(std::uint32_t rank, std::uint64_t through);

 private:
  void find_min();

  per_rank<std::uint64_t> through_;
  std::uint64_t min_ = 0;
  std::uint32_t at_min_;  // how many workers are at the minimum; recomputed when it reaches 0
};

}  // namespace tidegate::policies
