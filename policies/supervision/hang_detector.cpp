#include "policies/supervision/hang_detector.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

hang_detector::hang_detector(std::uint32_t timeout_ms)
    : timeout_(timeout_ms * millisecond),
      interval_(beat_interval_ms(timeout_ms) * millisecond),
      next_look_(timeout_ms == 0 ? never : 0) {}

void hang_detector::look(std::int64_t now, std::span<const beat_reading> readings,
                         std::vector<hang>& out) {
  if (now < next_look_) return;
  const auto passed = last_look_ == never ? 0 : std::min(now - last_look_, 2 * interval_);
  last_look_ = now;
  next_look_ = now + interval_;
  for (const auto& reading : readings) {
    auto& known = seen_[reading.process];
    if (reading.beats != std::exchange(known.beats, reading.beats)) {
      known.silent_ns = 0;
      known.is_reported = false;
    } else if (reading.beats != 0) {
      known.silent_ns += passed;
    }
    if (known.silent_ns < timeout_ + interval_ || std::exchange(known.is_reported, true))
      continue;
    out.push_back({reading.process, known.silent_ns});
  }
}

}  // namespace tidegate::policies
