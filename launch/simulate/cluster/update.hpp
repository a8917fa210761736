// One worker's gradient of one clock, as a simulation counts it.
#pragma once

#include <compare>
#include <cstdint>
#include <tuple>
#include <vector>

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

}  // namespace tidegate::sim
