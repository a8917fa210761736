// Fuzz target: strangers at a port that asks for the run's token (the coordinator's, and the
// launcher's for agents).
//
// Bytes are taken as what callers do to the gate: come, say something, go, wait. Whoever has
// not computed the proof is never let in, whoever has is, the room is never too small for the
// next, and nobody stays longer than allowed. A caller that hears bytes of somebody who is no
// listener refuses them.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <vector>

#include "policies/protocol/connection_gate.hpp"
#include "policies/protocol/handshake.hpp"
#include "runtime/base/assert.hpp"

namespace {

using namespace tidegate;
using policies::handshake_state;

constexpr std::uint64_t token = 17;
const policies::gate_limits limits{.strangers_max = 4, .handshake_ns = 1000, .crowded_ns = 10};

class input {
 public:
  explicit input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  std::uint8_t next() {
    if (empty()) return 0;
    const auto byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  std::vector<std::byte> several(std::size_t most) {
    std::vector<std::byte> result;
    for (std::size_t left = next() % (most + 1); left > 0 && !empty(); --left)
      result.push_back(static_cast<std::byte>(next()));
    return result;
  }

 private:
  std::span<const std::uint8_t> bytes_;
};

// Answers the challenge as a caller that knows this token.
std::vector<std::byte> response_to(const policies::listener_handshake& listener,
                                   std::uint64_t with) {
  policies::caller_handshake caller(with, {});
  caller.take(listener.challenge());
  const auto response = caller.response();
  return {response.begin(), response.end()};
}

struct stranger {
  std::int64_t since = 0;
  bool has_said = false;
};

class port {
 public:
  void come(input& from) {
    if (!gate_.may_accept(now_)) return;
    if (const auto leaver = gate_.make_room()) strangers_.erase(*leaver);
    policies::nonce drawn{};
    drawn[0] = static_cast<std::byte>(from.next());
    drawn[1] = static_cast<std::byte>(++drawn_);
    const auto slot = gate_.accepted(now_, drawn);
    TIDEGATE_ASSERT(!strangers_.contains(slot), "a slot has one stranger");
    strangers_[slot] = {.since = now_};
  }

  void say(input& from) {
    if (strangers_.empty()) return;
    auto at = strangers_.begin();
    std::advance(at, from.next() % strangers_.size());
    const auto& listener = gate_.handshake(at->first);
    std::vector<std::byte> bytes;
    bool is_right = false;
    switch (from.next() % 4) {
      case 0:
        bytes = response_to(listener, token);
        is_right = !at->second.has_said;
        break;
      case 1:
        bytes = response_to(listener, token + 1);
        break;
      case 2: {
        bytes = response_to(listener, token);
        bytes[from.next() % bytes.size()] ^= static_cast<std::byte>(1 + from.next() % 255);
        break;
      }
      default:
        bytes = from.several(policies::response_bytes);
    }
    if (bytes.size() > listener.wants()) bytes.resize(listener.wants());
    if (bytes.empty()) return;
    runtime::digest confirmation{};
    const auto state = gate_.received(at->first, bytes, confirmation);
    TIDEGATE_ASSERT((state == handshake_state::proven) == is_right,
                    "who knows the token is let in, and nobody else");
    at->second.has_said = true;
    if (state != handshake_state::waiting) strangers_.erase(at);
  }

  void go(input& from) {
    if (strangers_.empty()) return;
    auto at = strangers_.begin();
    std::advance(at, from.next() % strangers_.size());
    gate_.departed(at->first);
    strangers_.erase(at);
  }

  void pass(input& from) {
    now_ += std::int64_t{from.next()} * 16;
    late_.clear();
    gate_.expire(now_, late_);
    for (const auto slot : late_) strangers_.erase(slot);
    for (const auto& [slot, each] : strangers_)
      TIDEGATE_ASSERT(now_ - each.since < limits.handshake_ns, "nobody stays too long");
    (void)gate_.next_deadline();
    (void)gate_.report(now_);
  }

  void check() const {
    TIDEGATE_ASSERT(gate_.strangers() == strangers_.size(), "strangers are counted");
    TIDEGATE_ASSERT(strangers_.size() <= limits.strangers_max, "there is room for so many");
  }

 private:
  policies::connection_gate gate_{token, limits};
  std::map<policies::connection_gate::slot, stranger> strangers_;
  std::vector<policies::connection_gate::slot> late_;
  std::int64_t now_ = 0;
  std::uint8_t drawn_ = 0;
};

void call(input from) {
  policies::caller_handshake caller(token, {});
  while (!from.empty()) {
    auto bytes = from.several(40);
    if (bytes.size() > caller.wants()) bytes.resize(caller.wants());
    if (bytes.empty()) continue;
    const auto state = caller.take(bytes);
    TIDEGATE_ASSERT(state != handshake_state::proven, "nobody who listens has proven it");
    if (state != handshake_state::waiting) return;
    if (!caller.response().empty()) caller.responded();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input from({data, size});
  call(from);
  port here;
  while (!from.empty()) {
    switch (from.next() % 4) {
      case 0:
        here.come(from);
        break;
      case 1:
        here.say(from);
        break;
      case 2:
        here.go(from);
        break;
      default:
        here.pass(from);
    }
    here.check();
  }
  return 0;
}
