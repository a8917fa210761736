// Who came last of those that something waited for, and by how much. Pure, any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "policies/model/arrivals.hpp"

namespace tidegate::policies {

struct last_comer {
  std::size_t index = 0;
  std::uint64_t late_ns = 0;  // after the last but one
  std::size_t count = 0;      // that came; below 2 nobody was waited for
};

// `times`: when each came; 0: it did not.
inline last_comer last_of(std::span<const std::int64_t> times) {
  last_comer found;
  std::int64_t last = 0;
  std::int64_t before = 0;  // the last but one
  for (std::size_t index = 0; index < times.size(); ++index) {
    if (times[index] == 0) continue;
    ++found.count;
    if (times[index] >= last) {
      before = std::exchange(last, times[index]);
      found.index = index;
    } else {
      before = std::max(before, times[index]);
    }
  }
  found.late_ns = found.count < 2 ? 0 : static_cast<std::uint64_t>(last - before);
  return found;
}

// Closes a clock: counts all that came, and, where it is looked for, the last of them, and
// forgets the times.
inline last_comer close_clock(std::span<std::int64_t> times, std::span<rank_arrivals> sums,
                              bool looks_for_last = true) {
  auto found = last_of(times);
  for (std::size_t index = 0; index < times.size(); ++index)
    if (std::exchange(times[index], 0) != 0) ++sums[index].clocks;
  if (!looks_for_last) found.late_ns = 0;
  if (found.late_ns == 0) return found;  // nobody came last, or two did
  ++sums[found.index].last;
  sums[found.index].late_ns += found.late_ns;
  return found;
}

}  // namespace tidegate::policies
