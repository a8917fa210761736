#include "policies/supervision/retry_backoff.hpp"

#include <algorithm>

#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

namespace {

// A process takes about as long to start, and nobody waits for much longer than it takes.
constexpr std::int64_t pause_first = 10 * millisecond;
constexpr std::int64_t pause_most = 200 * millisecond;

}  // namespace

retry_backoff::retry_backoff(std::int64_t now, std::uint32_t give_up_ms)
    : until_(now + give_up_ms * millisecond), pause_(pause_first) {}

std::optional<std::int64_t> retry_backoff::after(std::int64_t now,
                                                 const runtime::status& result) {
  if (result.code() != runtime::errc::unavailable || now >= until_) return std::nullopt;
  const auto pause = std::min(pause_, until_ - now);
  pause_ = std::min(2 * pause_, pause_most);
  return pause;
}

}  // namespace tidegate::policies
