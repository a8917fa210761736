// Restart intensity, as supervisors of Erlang/OTP have it (System Documentation, "Supervisor
// Behaviour"): a process that dies comes back, after a pause that doubles from death to death,
// unless it has died too often lately. One object per process; time is an argument, in
// nanoseconds of a clock that never goes back. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "policies/model/spec.hpp"

namespace tidegate::policies {

class restart_intensity {
 public:
  // Counts a death. Returns the pause before the process is to be started again, in
  // nanoseconds; nothing if it has died too often.
  std::optional<std::int64_t> died(std::int64_t now, const restart_spec& limits);
  // Returns the number of deaths within the limit's time, as of the last death.
  std::size_t recent_deaths() const noexcept { return deaths_.size(); }

 private:
  std::deque<std::int64_t> deaths_;  // within the limit's time, the oldest first
};

}  // namespace tidegate::policies
