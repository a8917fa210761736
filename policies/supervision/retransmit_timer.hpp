// When to send something again that has not been answered: after a second, then after twice as
// long each time, at most eight seconds. Value type.
//
// An answer may be long in coming without anything being lost: under bsp a push is acknowledged
// when the slowest worker has pushed. Asking again costs an announcement that is not wanted, or
// for a small payload, which is not announced, the payload once more.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tidegate::policies {

struct retransmit_limits {
  std::int64_t first_ns = 1'000'000'000;
  std::int64_t most_ns = 8'000'000'000;
  std::int64_t growth = 2;  // times as long as before
};

class retransmit_timer {
 public:
  // Returns true if it is time to send again, and starts the next wait. The first call starts
  // the timer. `now` is in nanoseconds, of a clock that does not go back.
  bool is_due(std::int64_t now, const retransmit_limits& limits = {}) noexcept {
    if (wait_ == 0) {
      wait_ = limits.first_ns;
      due_ = now + wait_;
      return false;
    }
    if (now < due_) return false;
    wait_ = std::min(limits.growth * wait_, limits.most_ns);
    due_ = now + wait_;
    return true;
  }

 private:
  std::int64_t wait_ = 0;  // 0: not started
  std::int64_t due_ = 0;
};

}  // namespace tidegate::policies
