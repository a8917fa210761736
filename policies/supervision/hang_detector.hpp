// Which processes hang. A process that lives beats, and the launcher looks at the counts of all
// of them, again and again; one whose count has stood still for longer than the time-out hangs.
//
// What counts is time in which the launcher itself was awake: one that was stopped, or starved,
// finds all counts as they were, and that says nothing. So a look adds no more to a silence
// than two intervals. And a beat is at most an interval late, so that a process that was
// stopped for less than the time-out is never told to hang.
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

// How often a process is to beat, and how often to look.
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

  // 0: nobody ever hangs.
  explicit hang_detector(std::uint32_t timeout_ms);

  // The next reading of this process is of another one, which has taken its place.
  void forget(process_number process) { seen_.erase(process); }
  // Appends those that have been found to hang, each once.
  void look(std::int64_t now, std::span<const beat_reading> readings, std::vector<hang>& out);
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
