// How far a worker's pushes to a chunk have been applied: all of clocks below `next`. Plain
// values.
#pragma once

#include <cstdint>

namespace tidegate::policies {

struct rank_progress {
  std::uint64_t next = 0;
  bool finished = false;

  friend bool operator==(const rank_progress&, const rank_progress&) = default;
};

// A clock of a chunk.
struct chunk_clock {
  std::uint32_t table = 0;
  std::uint32_t chunk = 0;
  std::uint64_t clock = 0;

  friend bool operator==(const chunk_clock&, const chunk_clock&) = default;
};

}  // namespace tidegate::policies
