// When a member reports the peers that it cannot reach: once a second while there are any that
// have been out of reach for two seconds. See reachability_judge.hpp. Value type; time is an
// argument, in nanoseconds of a clock that never goes back.
#pragma once

#include <cstdint>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

class outage_reports {
 public:
  // Shorter outages are nobody's business.
  static constexpr std::int64_t after_ns = 2000 * millisecond;
  static constexpr std::int64_t pause_ns = 1000 * millisecond;

  // Returns true if a report is to be sent now; the next is due after a pause.
  bool is_due(std::int64_t now) noexcept {
    if (reported_at_ != never && now - reported_at_ < pause_ns) return false;
    reported_at_ = now;
    return true;
  }

 private:
  static constexpr std::int64_t never = -1;
  std::int64_t reported_at_ = never;
};

}  // namespace tidegate::policies
