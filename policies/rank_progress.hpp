// How far a worker's pushes to a chunk have been applied: those of clocks below `next`. Plain
// values.
#pragma once

#include <cstdint>

namespace tidegate::policies {

struct rank_progress {
  std::uint64_t next = 0;
  bool finished = false;

  friend bool operator==(const rank_progress&, const rank_progress&) = default;
};

}  // namespace tidegate::policies
