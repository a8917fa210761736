#include "actors/membership/membership_shell.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using runtime::is_planted;
using runtime::planted_bug;

membership_step membership_shell::begin(std::int64_t now) {
  backoff_ = policies::retry_backoff(now, give_up_ms_);
  return go(action::find);
}

membership_step membership_shell::begin_found(std::int64_t now) {
  backoff_ = policies::retry_backoff(now, give_up_ms_);
  return go(action::join);
}

membership_step membership_shell::next(std::int64_t now, const runtime::status& result) {
  switch (at_) {
    case action::find:
      return result.ok() ? go(action::join) : failed(now, result);
    case action::join:
      return result.ok() ? go(action::stay) : failed(now, result);
    case action::rest:
      return go(action::find);
    case action::stay:
      if (is_planted(planted_bug::lost_coordinator_not_joined_again)) return go(action::stay);
      return begin(now);
    case action::give_up:
      break;
  }
  TIDEGATE_ASSERT(false, "a member that has given up takes no further step");
  return {};
}

membership_step membership_shell::failed(std::int64_t now, const runtime::status& why) {
  const bool busy_is_final =
      at_ == action::join && is_planted(planted_bug::join_not_repeated_when_lost);
  if (const auto pause = backoff_.after(now, why); pause && !busy_is_final)
    return {.kind = at_ = action::rest, .pause_ns = *pause, .why = {}};
  return {.kind = at_ = action::give_up, .pause_ns = 0, .why = why};
}

}  // namespace tidegate::actors
