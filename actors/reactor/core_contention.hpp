// Whether a reactor's core has other takers, by how long its yields take: one that yields to
// them waits for whole time slices, one that sleeps is put before others when it wakes. A
// single long yield may be the machine's, or a process that wakes once a second: it is believed
// for a moment only, and for longer each time that it comes again. A value; one thread.
#pragma once

#include <algorithm>
#include <chrono>

namespace tidegate::actors {

class core_contention {
 public:
  using clock = std::chrono::steady_clock;

  // A yield went from one time to the other.
  void yielded(clock::time_point before, clock::time_point after) noexcept {
    if (after - before <= yield_long) return;
    const bool is_again = before - until_ < forgotten_after;
    believed_ = is_again ? std::min(believed_ * 2, believed_max) : believed_min;
    until_ = after + believed_;
  }
  // Returns true if a yield is likely to take long.
  bool is_likely(clock::time_point now) const noexcept { return now < until_; }

  static constexpr std::chrono::microseconds yield_long{300};
  static constexpr std::chrono::microseconds believed_min{1000};
  static constexpr std::chrono::microseconds believed_max{50'000};
  static constexpr std::chrono::microseconds forgotten_after{50'000};

 private:
  clock::time_point until_ = clock::time_point() - forgotten_after;
  std::chrono::microseconds believed_{believed_min};
};

}  // namespace tidegate::actors
