#include "policies/supervision/restarts.hpp"

#include <algorithm>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

std::optional<std::int64_t> restart_intensity::died(std::int64_t now,
                                                    const restart_spec& limits) {
  deaths_.push_back(now);
  const auto since = now - limits.within_ms * millisecond;
  while (deaths_.front() < since) deaths_.pop_front();
  if (deaths_.size() > limits.max_restarts) return std::nullopt;
  if (deaths_.size() == 1) return 0;
  const auto last = limits.backoff_last_ms * millisecond;
  auto pause = limits.backoff_first_ms * millisecond;
  for (std::size_t i = 2; i < deaths_.size() && pause < last; ++i) pause *= 2;
  return std::min(pause, last);
}

}  // namespace tidegate::policies
