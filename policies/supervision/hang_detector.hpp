// Which processes hang. A process that lives beats, and the launcher looks at the counts of all
// processes, again and again; a process hangs if its count has stood still for longer than the
// time-out.
//
// Only time in which the launcher itself was awake counts: a launcher that was stopped, or
// starved, finds all counts as they were, and that says nothing. So a look adds no more to a
// silence than two intervals. And a beat is at most an interval late, so that a process that
// was stopped for less than the time-out is never found to hang.
//
// One thread; time is an argument: nanoseconds of a clock that never goes back.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "policies/model/process_name.hpp"

namespace tidegate::policies {

// Returns the interval at which a process is to beat, and the launcher to look.
constexpr std::uint32_t beat_interval_ms(std::uint32_t timeout_ms) noexcept {
  return timeout_ms < 8 ? 1 : timeout_ms / 8;
}

struct beat_reading {
  process_number process = 0;
  std::uint64_t beats = 0;  // 0: it has not begun to beat, or has ended to
};

struct hang {
  process_number process = 0;
  std::int64_t silent_ns = 0;
};

class hang_detector {
 public:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  // With a time-out of 0 no process ever hangs.
  explicit hang_detector(std::uint32_t timeout_ms);

  // Forgets a process: the next reading under this number is of its successor.
  void forget(process_number process) { seen_.erase(process); }
  // Appends the processes that are found to hang, each once until it beats again. Does nothing
  // before next_look().
  void look(std::int64_t now, std::span<const beat_reading> readings, std::vector<hang>& out);
  // Returns when look() is due; `never` where no process ever hangs.
  std::int64_t next_look() const noexcept { return next_look_; }

 private:
  struct state {
    std::uint64_t beats = 0;
    std::int64_t silent_ns = 0;
    bool is_reported = false;
  };

  std::int64_t timeout_;
  std::int64_t interval_;
  std::int64_t last_look_ = never;
  std::int64_t next_look_;
  std::map<process_number, state> seen_;
};

}  // namespace tidegate::policies
