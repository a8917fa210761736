#include "runtime/base/stranger_room.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::int64_t second_ns = 1'000'000'000;

}  // namespace

stranger_room::stranger_room(const stranger_limits& limits)
    : limits_(limits),
      waiting_(limits.strangers_max),
      accept_from_(std::numeric_limits<std::int64_t>::min() / 2) {
  TIDEGATE_ASSERT(
      limits.strangers_max > 0 && limits.accepted_per_second > 0 && limits.accepted_at_once > 0,
      "a room lets somebody in");
}

std::int64_t stranger_room::accept_interval() const noexcept {
  return second_ns / limits_.accepted_per_second;
}

bool stranger_room::may_accept(std::int64_t now) {
  accept_at_ = accept_from_;
  if (is_full())
    accept_at_ = std::max(accept_at_, waiting_[oldest()].since + limits_.crowded_ns);
  waits_to_accept_ = now < accept_at_;
  return !waits_to_accept_;
}

std::optional<stranger_room::slot> stranger_room::make_room() {
  if (!is_full()) return std::nullopt;
  const auto leaver = oldest();
  leave(leaver);
  return leaver;
}

stranger_room::slot stranger_room::accepted(std::int64_t now) {
  TIDEGATE_ASSERT(!is_full(), "make_room() came before");
  const auto saved = accept_interval() * (limits_.accepted_at_once - 1);
  accept_from_ = std::max(accept_from_, now - saved) + accept_interval();
  const auto free = std::find_if(waiting_.begin(), waiting_.end(),
                                 [](const stranger& waiting) { return !waiting.present; });
  *free = {.since = now, .present = true};
  ++strangers_;
  return static_cast<slot>(free - waiting_.begin());
}

void stranger_room::accept_failed(std::int64_t now) noexcept {
  accept_from_ = std::max(accept_from_, now + limits_.crowded_ns);
}

void stranger_room::leave(slot leaver) {
  TIDEGATE_ASSERT(is_present(leaver), "a stranger of this room");
  waiting_[leaver].present = false;
  --strangers_;
}

void stranger_room::expire(std::int64_t now, std::vector<slot>& late) {
  for (slot i = 0; i < waiting_.size() && strangers_ > 0; ++i) {
    if (!waiting_[i].present || now < waiting_[i].since + limits_.handshake_ns) continue;
    leave(i);
    late.push_back(i);
  }
}

std::optional<std::int64_t> stranger_room::next_deadline(std::uint64_t refused) const {
  std::optional<std::int64_t> next;
  const auto consider = [&next](std::int64_t at) { next = next ? std::min(*next, at) : at; };
  if (strangers_ > 0) consider(waiting_[oldest()].since + limits_.handshake_ns);
  if (waits_to_accept_) consider(accept_at_);
  if (refused != reported_) consider(report_from_);
  return next;
}

bool stranger_room::report(std::uint64_t refused, std::int64_t now) {
  if (refused == reported_ || now < report_from_) return false;
  reported_ = refused;
  report_from_ = now + limits_.report_ns;
  return true;
}

stranger_room::slot stranger_room::oldest() const noexcept {
  slot found = 0;
  auto since = std::numeric_limits<std::int64_t>::max();
  for (slot i = 0; i < waiting_.size(); ++i) {
    if (!waiting_[i].present || waiting_[i].since >= since) continue;
    found = i;
    since = waiting_[i].since;
  }
  return found;
}

}  // namespace tidegate::runtime
