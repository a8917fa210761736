// What a chunk keeps for each rank of its job, from the first rank on that something is kept
// for: a table may have a hundred thousand chunks, and a job a thousand workers of which each
// touches some. Until then every rank has what is kept of nobody. One thread; one allocation,
// at the first change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

template <class T>
class per_rank {
 public:
  explicit per_rank(std::uint32_t ranks) noexcept : ranks_(ranks) {}

  std::uint32_t size() const noexcept { return ranks_; }
  bool is_touched() const noexcept { return !kept_.empty(); }

  const T& at(std::uint32_t rank) const noexcept { return kept_.empty() ? none : kept_[rank]; }
  // To be changed: takes memory for all ranks at the first time.
  T& change(std::uint32_t rank) {
    TIDEGATE_ASSERT(rank < ranks_, "a rank of the job, of a chunk that is here");
    if (kept_.empty()) kept_.assign(ranks_, none);
    return kept_[rank];
  }
  // Returns nullptr while nothing is kept for any rank.
  T* find(std::uint32_t rank) noexcept { return kept_.empty() ? nullptr : &kept_[rank]; }
  // Empty while nothing is.
  std::span<const T> all() const noexcept { return kept_; }

 private:
  static constexpr T none{};

  std::uint32_t ranks_;
  std::vector<T> kept_;
};

}  // namespace tidegate::policies
