// What the side of a shard or an aggregator that faces workers asks of its shell, which touches
// memory and a network: an actor, or a simulated process. One thread; no function of a shell
// may call ingress_core back.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "policies/protocol/frame_tag.hpp"
#include "policies/protocol/protocol.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/effects.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies {

// A process that pushes here. A rank has a new one when it comes back.
struct member_key {
  std::uint64_t job = 0;
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;

  friend auto operator<=>(const member_key&, const member_key&) = default;
};

using send_name = std::uint64_t;  // of a reply that is on its way; 0: none

class ingress_shell {
 public:
  using effects = shard_effects;
  using inputs = std::span<const effects::input>;
  using peer_id = std::uint32_t;  // the shell's name of a connection

  virtual ~ingress_shell() = default;

  // Steps, which differ between a shard and an aggregator. `from`: what is summed.
  virtual void apply(const effects::apply& apply, inputs from) = 0;
  virtual void hand_on(const effects::hand_on& handover, inputs from) = 0;
  virtual void ask(const effects::ask& ask) = 0;
  virtual void snapshot(const effects::snapshot& snapshot,
                        const shard_core::cut_state& state) = 0;
  // To and of a replica; see replication_core.
  virtual void replicate(const effects::replicate& replicate) = 0;
  virtual void seed(const effects::seed& seed) = 0;
  virtual void replicate_farewell(const effects::replicate_farewell& farewell) = 0;
  virtual void followed(const effects::followed& followed) = 0;

  // Frames. The second tells where the parameters of header.table are. The third sends those of
  // a slot in a version buffer and calls ingress_core::sent(name) when they have left it, or
  // never will.
  virtual void send(peer_id to, const runtime::frame_header& header) = 0;
  virtual void send_place(peer_id to, const runtime::frame_header& header) = 0;
  virtual void send_parameters(peer_id to, const runtime::frame_header& header,
                               std::uint32_t slot, std::uint32_t version_buffer,
                               send_name name) = 0;
  // Whoever was there is gone: what waits to be sent there is forgotten, with the names of
  // replies among it appended; what is on its way ends soon.
  virtual void drop(peer_id to, std::vector<send_name>& names) = 0;

  // Connects to this member anew, in place of a connection that broke. Returns nothing if no
  // connection could be begun.
  virtual std::optional<peer_id> reconnect(const member_key& member) = 0;

  // Memory. Maps the gradients of a member for a table, whose place is in the payload of an
  // attach: none, or no_window.
  virtual reply_code map_gradients(const member_key& worker, std::uint32_t table,
                                   std::span<const std::byte> place) = 0;
  // Names the chunk's part of such a gradient, which stays readable until release().
  virtual payload_handle keep_in_place(const member_key& worker, std::uint32_t table,
                                       std::uint32_t half, std::uint32_t slot) = 0;
  virtual void release(payload_handle payload) = 0;
  // It is gone or replaced: nothing of its memory is named any more.
  virtual void forget(const member_key& worker) = 0;
  virtual std::uint64_t bytes_of(std::uint32_t slot) const = 0;

  // Call ingress_core::go_on() soon, after a look at the network.
  virtual void go_on_soon() = 0;
  // Call ingress_core::post_acks() before the network is progressed again.
  virtual void post_acks_soon() = 0;
  // For the log.
  virtual void note_refusal(const frame_tag& tag, reply_code code) = 0;
};

}  // namespace tidegate::policies
