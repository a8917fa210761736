// How many of a job's workers push a clock: the mean of its gradients is over so many.
//
// One thread. Only change() allocates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tidegate::policies {

// A rank pushes every clock from this one on, or none.
struct membership_change {
  std::uint32_t number = 0;  // of the job's changes, from 1
  std::uint32_t rank = 0;
  std::uint64_t clock = 0;
  bool joins = false;
  bool pushes_here = true;  // to shards; else to an aggregator

  friend bool operator==(const membership_change&, const membership_change&) = default;
};

// Returns the ranks that have left and not come back, ascending. `changes` in their order.
inline std::vector<std::uint32_t> ranks_left(const std::vector<membership_change>& changes) {
  std::vector<std::uint32_t> left;
  for (const auto& change : changes) {
    std::erase(left, change.rank);
    if (!change.joins) left.push_back(change.rank);
  }
  std::sort(left.begin(), left.end());
  return left;
}

class membership_schedule {
 public:
  // Begins with so many workers at every clock.
  explicit membership_schedule(std::uint32_t workers = 0) : workers_(workers) {}

  // Adds a worker from this clock on, or takes one away; in any order of clocks.
  void change(std::uint64_t clock, bool joins) {
    const auto before = [](const step& a, const step& b) { return a.clock < b.clock; };
    const step result{clock, joins ? 1 : -1};
    steps_.insert(std::upper_bound(steps_.begin(), steps_.end(), result, before), result);
  }
  // Returns how many workers push this clock, at least 1: where nobody pushes, nothing is
  // divided.
  std::uint32_t contributors(std::uint64_t clock) const noexcept {
    std::int64_t size = workers_;
    for (const auto& result : steps_) {
      if (result.clock > clock) break;
      size += result.by;
    }
    return static_cast<std::uint32_t>(std::max<std::int64_t>(size, 1));
  }

 private:
  struct step {
    std::uint64_t clock = 0;
    std::int32_t by = 0;
  };
  std::uint32_t workers_;
  std::vector<step> steps_;  // ascending in clock
};

}  // namespace tidegate::policies
