#include "policies/protocol/connection_gate.hpp"

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

connection_gate::connection_gate(std::uint64_t token, const gate_limits& limits)
    : token_(token), room_(limits), handshakes_(limits.strangers_max) {}

std::optional<connection_gate::slot> connection_gate::make_room() {
  const auto leaver = room_.make_room();
  if (leaver) ++counters_.refused_late;
  return leaver;
}

connection_gate::slot connection_gate::accepted(std::int64_t now, const nonce& drawn) {
  const auto slot = room_.accepted(now);
  handshakes_[slot] = listener_handshake(token_, drawn);
  ++counters_.accepted;
  return slot;
}

const listener_handshake& connection_gate::handshake(slot of) const {
  TIDEGATE_ASSERT(room_.is_present(of), "a stranger of this gate");
  return handshakes_[of];
}

handshake_state connection_gate::received(slot from, std::span<const std::byte> bytes,
                                          runtime::digest& confirmation) {
  TIDEGATE_ASSERT(room_.is_present(from), "a stranger of this gate");
  auto& handshake = handshakes_[from];
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

void connection_gate::departed(slot from) {
  leave(from);
  ++counters_.departed;
}

void connection_gate::expire(std::int64_t now, std::vector<slot>& late) {
  const auto before = late.size();
  room_.expire(now, late);
  counters_.refused_late += late.size() - before;
}

std::optional<std::uint64_t> connection_gate::report(std::int64_t now) {
  const auto refused = counters_.refused();
  if (!room_.report(refused, now)) return std::nullopt;
  return refused;
}

}  // namespace tidegate::policies
