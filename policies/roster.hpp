// Which of a job's workers push a clock: over so many is the mean of its gradients. A worker
// that has left for good pushes the clocks below its last one, and nobody waits for it.
//
// One thread. Only leave() allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

class roster {
 public:
  explicit roster(std::uint32_t workers = 0) : workers_(workers) {}

  // The rank pushes no clock from this one on. Told twice it counts once. True: it is news.
  bool leave(std::uint32_t rank, std::uint64_t clock) {
    if (has_left(rank)) return false;
    TIDEGATE_ASSERT(left_.size() + 1 < workers_, "a worker of the job stays");
    const auto before = [](const leaving& a, const leaving& b) { return a.clock < b.clock; };
    const leaving made{rank, clock};
    left_.insert(std::upper_bound(left_.begin(), left_.end(), made, before), made);
    return true;
  }
  bool has_left(std::uint32_t rank) const noexcept {
    return std::any_of(left_.begin(), left_.end(),
                       [&](const leaving& one) { return one.rank == rank; });
  }
  // How many push this clock; at least one.
  std::uint32_t team(std::uint64_t clock) const noexcept {
    std::size_t gone = 0;
    while (gone < left_.size() && left_[gone].clock <= clock) ++gone;
    return workers_ - static_cast<std::uint32_t>(gone);
  }

 private:
  struct leaving {
    std::uint32_t rank = 0;
    std::uint64_t clock = 0;
  };
  std::uint32_t workers_;
  std::vector<leaving> left_;  // ascending in clock
};

}  // namespace tidegate::policies
