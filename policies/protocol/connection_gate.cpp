#include "policies/protocol/connection_gate.hpp"

#include <algorithm>
#include <limits>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

namespace {

constexpr std::int64_t second = 1'000 * millisecond;

}  // namespace

connection_gate::connection_gate(std::uint64_t token, const gate_limits& limits)
    : limits_(limits),
      token_(token),
      waiting_(limits.strangers_max),
      accept_from_(std::numeric_limits<std::int64_t>::min() / 2) {
  TIDEGATE_ASSERT(
      limits.strangers_max > 0 && limits.accepted_per_second > 0 && limits.accepted_at_once > 0,
      "a gate lets somebody in");
}

std::int64_t connection_gate::accept_interval() const noexcept {
  return second / limits_.accepted_per_second;
}

bool connection_gate::may_accept(std::int64_t now) {
  accept_at_ = accept_from_;
  if (is_full())
    accept_at_ = std::max(accept_at_, waiting_[oldest()].since + limits_.crowded_ns);
  waits_to_accept_ = now < accept_at_;
  return !waits_to_accept_;
}

std::optional<connection_gate::slot> connection_gate::make_room() {
  if (!is_full()) return std::nullopt;
  const auto leaver = oldest();
  leave(leaver);
  ++counters_.refused_late;
  return leaver;
}

connection_gate::slot connection_gate::accepted(std::int64_t now, const nonce& drawn) {
  TIDEGATE_ASSERT(!is_full(), "make_room() came before");
  const auto saved = accept_interval() * (limits_.accepted_at_once - 1);
  accept_from_ = std::max(accept_from_, now - saved) + accept_interval();
  const auto free = std::find_if(waiting_.begin(), waiting_.end(),
                                 [](const stranger& waiting) { return !waiting.present; });
  *free = {.handshake = listener_handshake(token_, drawn), .since = now, .present = true};
  ++strangers_;
  ++counters_.accepted;
  return static_cast<slot>(free - waiting_.begin());
}

const listener_handshake& connection_gate::handshake(slot of) const {
  TIDEGATE_ASSERT(waiting_.at(of).present, "a stranger of this gate");
  return waiting_[of].handshake;
}

handshake_state connection_gate::received(slot from, std::span<const std::byte> bytes,
                                          runtime::digest& confirmation) {
  TIDEGATE_ASSERT(waiting_.at(from).present, "a stranger of this gate");
  auto& handshake = waiting_[from].handshake;
  const auto state = handshake.take(bytes);
  if (state == handshake_state::waiting) return state;
  if (state == handshake_state::proven) {
    ++counters_.admitted;
    confirmation = handshake.confirmation();
  }
  if (state == handshake_state::other_version) ++counters_.refused_version;
  if (state == handshake_state::wrong_proof) ++counters_.refused_proof;
  leave(from);
  return state;
}

void connection_gate::accept_failed(std::int64_t now) noexcept {
  accept_from_ = std::max(accept_from_, now + limits_.crowded_ns);
}

void connection_gate::departed(slot from) {
  TIDEGATE_ASSERT(waiting_.at(from).present, "a stranger of this gate");
  leave(from);
  ++counters_.departed;
}

void connection_gate::expire(std::int64_t now, std::vector<slot>& late) {
  for (slot i = 0; i < waiting_.size() && strangers_ > 0; ++i) {
    const auto& waiting = waiting_[i];
    if (!waiting.present || now < waiting.since + limits_.handshake_ns) continue;
    leave(i);
    ++counters_.refused_late;
    late.push_back(i);
  }
}

std::optional<std::int64_t> connection_gate::next_deadline() const {
  std::optional<std::int64_t> next;
  const auto consider = [&next](std::int64_t at) { next = next ? std::min(*next, at) : at; };
  if (strangers_ > 0) consider(waiting_[oldest()].since + limits_.handshake_ns);
  if (waits_to_accept_) consider(accept_at_);
  if (counters_.refused() != reported_) consider(report_from_);
  return next;
}

std::optional<std::uint64_t> connection_gate::report(std::int64_t now) {
  const auto refused = counters_.refused();
  if (refused == reported_ || now < report_from_) return std::nullopt;
  reported_ = refused;
  report_from_ = now + limits_.report_ns;
  return refused;
}

connection_gate::slot connection_gate::oldest() const noexcept {
  slot found = 0;
  auto since = std::numeric_limits<std::int64_t>::max();
  for (slot i = 0; i < waiting_.size(); ++i) {
    if (!waiting_[i].present || waiting_[i].since >= since) continue;
    found = i;
    since = waiting_[i].since;
  }
  return found;
}

void connection_gate::leave(slot leaver) noexcept {
  waiting_[leaver].present = false;
  --strangers_;
}

}  // namespace tidegate::policies
