// How stale what a worker pulled was: by how many clocks the oldest worker's pushes in it were
// behind its own. Counts in a few ranges. Plain values.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace tidegate::policies {

// The first staleness of each range, in clocks; the last has no end.
inline constexpr std::array<std::uint64_t, 8> staleness_ranges{0, 1, 2, 3, 4, 8, 16, 32};

// Answers of shards for a chunk each, by range.
using staleness_counts = std::array<std::uint64_t, staleness_ranges.size()>;

// Returns the range that it is in.
constexpr std::size_t staleness_range_of(std::uint64_t clocks) noexcept {
  constexpr std::uint64_t powers_from = 4;
  if (clocks < powers_from) return static_cast<std::size_t>(clocks);
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(clocks)) + 1,
                               staleness_ranges.size() - 1);
}

struct staleness_record {
  std::uint64_t max = 0;
  staleness_counts counts{};
  // Of what was pulled last, at this clock, over all chunks; nothing: nothing was.
  std::optional<std::uint64_t> latest = {};
  std::uint64_t latest_clock = 0;

  // An answer to a pull at `clock`.
  void add(std::uint64_t clock, std::uint64_t clocks) noexcept {
    max = std::max(max, clocks);
    ++counts[staleness_range_of(clocks)];
    const bool goes_on = latest && clock == latest_clock;
    latest = goes_on ? std::max(*latest, clocks) : clocks;
    latest_clock = clock;
  }
};

}  // namespace tidegate::policies
