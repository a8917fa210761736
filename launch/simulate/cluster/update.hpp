// One worker's gradient of one clock, as a simulation counts it.
#pragma once

#include <compare>
#include <cstdint>
#include <tuple>
#include <vector>

#include "runtime/base/rng.hpp"

namespace tidegate::sim {

// A worker that comes back may write another one; which of them is applied is the shard's
// choice, but only one is.
struct update {
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
  std::uint32_t incarnation = 1;

  friend auto operator<=>(const update& a, const update& b) {
    return std::tie(a.rank, a.clock) <=> std::tie(b.rank, b.clock);
  }
  friend bool operator==(const update& a, const update& b) { return (a <=> b) == 0; }
};
using updates = std::vector<update>;

// Returns what this rank of a job with this seed multiplies learning rates by at a clock; half
// of the jobs leave them as they are.
inline float rate_of(std::uint64_t seed, const update& pushed) {
  if (seed % 2 == 0) return 1.0F;
  return 1.0F +
         0.25F * static_cast<float>(runtime::mix64(seed + pushed.rank * 31 + pushed.clock) % 4);
}

}  // namespace tidegate::sim
