// Time as a core sees it, which passes while its process is awake. While that is stopped
// (SIGSTOP, a machine that swaps) it hears nothing: otherwise the core would judge by old news
// that others are late. Nanoseconds of a clock that never goes back. A value.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tidegate::launch {

class awake_clock {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  void begin(std::int64_t now) noexcept { now_ = now; }
  // A turn begins. `due`: when it was due at the latest, in the core's time; `gap_max`: longer
  // than that between two turns the process was stopped, `never` if that says nothing.
  // `counts`: false plants a mistake. Returns the core's time.
  std::int64_t pass(std::int64_t now, std::int64_t due, std::int64_t gap_max,
                    bool counts = true) noexcept {
    const auto before = now_ + stopped_;
    const auto latest = due == never ? never : std::max(due + stopped_, before);
    const bool was_stopped = (latest != never && now - late_max > latest) ||
                             (gap_max != never && now - before > gap_max);
    if (was_stopped && counts) stopped_ = now - now_;
    now_ = now - stopped_;
    return now_;
  }
  std::int64_t now() const noexcept { return now_; }
  // Returns when it is this time of the core.
  std::int64_t when(std::int64_t core_time) const noexcept {
    return core_time == never ? never : core_time + stopped_;
  }

 private:
  // A turn may be so late before the process counts as having been stopped.
  static constexpr std::int64_t late_max = 500'000'000;

  std::int64_t now_ = 0;      // of the last turn, for the core
  std::int64_t stopped_ = 0;  // so long has the process been, in all
};

}  // namespace tidegate::launch
