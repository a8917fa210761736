// The credits of a worker: pushes of at most limits::clocks_in_flight_max clocks are
// unacknowledged at a time, or of one clock where the later one's pushes wait here until the
// earlier one's are acknowledged.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "runtime/base/limits.hpp"

namespace tidegate::policies {

class credit_window {
 public:
  void set_one_clock_in_flight() { one_clock_in_flight_ = true; }
  bool has_one_clock_in_flight() const { return one_clock_in_flight_; }

  // Counts a push of this clock, or a skip, as unacknowledged, until acknowledged().
  void begin(std::uint64_t clock, bool is_skip);
  void acknowledged(std::uint64_t clock, bool is_skip);
  // Forgets all pushes: no acknowledgement is waited for.
  void clear();

  // Returns true if a push of this clock is within the window: the pushes of the clock that had
  // its place are acknowledged.
  bool has_room(std::uint64_t clock) const {
    return active_[clock % window] == 0 || clocks_[clock % window] == clock;
  }
  bool all_acknowledged() const;
  // Returns true if pushes of this clock may be sent now. Otherwise the caller calls wait().
  bool may_send(std::uint64_t clock) const;
  void wait(std::uint64_t clock) { waiting_ = clock; }
  bool waits(std::uint64_t clock) const { return waiting_ == clock; }
  // Returns the clock whose pushes wait and may be sent now; they wait no more.
  std::optional<std::uint64_t> take_sendable();
  // Returns the number of pushes without an acknowledgement, skips apart.
  std::uint64_t pushes() const { return pushes_; }

 private:
  static constexpr auto window = runtime::limits::clocks_in_flight_max;

  // Pushes and skips by clock modulo window, and of which clock.
  std::array<std::uint32_t, window> active_{};
  std::array<std::uint64_t, window> clocks_{};
  std::uint64_t pushes_ = 0;
  bool one_clock_in_flight_ = false;
  std::optional<std::uint64_t> waiting_;
};

}  // namespace tidegate::policies
