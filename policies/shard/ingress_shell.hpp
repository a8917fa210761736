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

// The name of a process that pushes here. A rank has a new incarnation when it comes back.
struct member_key {
  std::uint64_t job = 0;
  std::uint32_t rank = 0;
  std::uint32_t incarnation = 0;

  friend auto operator<=>(const member_key&, const member_key&) = default;
};

using send_name = std::uint64_t;  // of a reply that is on its way; 0: none

// Every function is called from within a call of ingress_core, in the order in which it
// decided.
class ingress_shell {
 public:
  using effects = shard_effects;
  using inputs = std::span<const effects::input>;
  using peer_id = std::uint32_t;  // the shell's name of a connection

  virtual ~ingress_shell() = default;

  // Carry out the effect of that name (effects.hpp), before they return. `from`: the inputs
  // that the effect is about, valid until then. An aggregator has no apply and no snapshot, a
  // shard no hand_on and no ask.
  // apply returns why the step could not be made: then pushes of the chunk are refused with
  // that from now on.
  virtual reply_code apply(const effects::apply& apply, inputs from) = 0;
  // Returns what the effect asks for.
  virtual double measure(const effects::measure& measure, inputs from) = 0;
  virtual void hand_on(const effects::hand_on& handover, inputs from) = 0;
  virtual void ask(const effects::ask& ask) = 0;
  virtual void snapshot(const effects::snapshot& snapshot,
                        const shard_core::cut_state& state) = 0;
  // Pass the effect on to replication_core's call of that name.
  virtual void replicate(const effects::replicate& replicate) = 0;
  virtual void seed(const effects::seed& seed) = 0;
  virtual void replicate_farewell(const effects::replicate_farewell& farewell) = 0;
  virtual void followed(const effects::followed& followed) = 0;

  // Makes the parameters of these slots, as they are in this version buffer, readable in place
  // by the time the frames arrive that are sent after this.
  virtual void show(std::span<const std::uint32_t> slots, std::uint32_t version_buffer) = 0;

  // Sends a frame without payload.
  virtual void send(peer_id to, const runtime::frame_header& header) = 0;
  // Sends where the parameters of header.table lie, as the payload; the shell sets its size.
  virtual void send_place(peer_id to, const runtime::frame_header& header) = 0;
  // Sends the parameters of `slot` in `version_buffer`, header.payload_bytes of them, without a
  // copy that would have to be complete now. Calls ingress_core::sent(name) later, when they
  // have left the version buffer or never will.
  virtual void send_parameters(peer_id to, const runtime::frame_header& header,
                               std::uint32_t slot, std::uint32_t version_buffer,
                               send_name name) = 0;
  // Sends what the function that `call` names makes of them, when frames that were sent before
  // this may go; the payload may be released at once. Calls ingress_core::sent(name) likewise.
  virtual void send_results(peer_id to, const runtime::frame_header& header, std::uint32_t slot,
                            std::uint32_t version_buffer, payload_handle call,
                            send_name name) = 0;
  // Returns true if there is memory for the answer to this call; send_results() follows then.
  virtual bool may_answer(std::uint32_t /*slot*/, payload_handle /*call*/) { return true; }
  // Drops the connection: forgets what waits to be sent there and appends the names of the
  // replies among it, for which it does not call sent(). What is being sent ends soon, and is
  // told by sent().
  virtual void drop(peer_id to, std::vector<send_name>& names) = 0;

  // Connects to this member anew, in place of a connection that broke. Returns nothing if no
  // connection could be begun.
  virtual std::optional<peer_id> reconnect(const member_key& member) = 0;

  // Maps the gradients of a member for a table. `place`: the payload of an attach. Returns ok,
  // or no_window if they cannot be read here.
  virtual reply_code map_gradients(const member_key& worker, std::uint32_t table,
                                   std::span<const std::byte> place) = 0;
  // Returns a name for the slot's part of a mapped gradient, in this half of the double buffer,
  // which stays readable until release(), also after forget(). `on_device`: as map_on_device()
  // has mapped it.
  virtual payload_handle keep_in_place(const member_key& worker, std::uint32_t table,
                                       std::uint32_t half, std::uint32_t slot,
                                       bool on_device) = 0;
  // Maps the gradients of a member for a table on a device. `places`: the payload of a
  // device_attach. Returns false if they are to be read on the host.
  virtual bool map_on_device(const member_key& /*worker*/, std::uint32_t /*table*/,
                             std::span<const std::byte> /*places*/) {
    return false;
  }
  // Sends where version buffers of header.table lie on the device that are not among `known`
  // (bit b: version buffer b), as the payload; the shell sets its size.
  virtual void send_device_places(peer_id /*to*/, const runtime::frame_header& /*header*/,
                                  std::uint64_t /*known*/) {}
  // Takes back a payload of frame() or keep_in_place(), once each.
  virtual void release(payload_handle payload) = 0;
  // Unmaps the memory of a process that has left or was replaced, as soon as all that
  // keep_in_place() named of it is released.
  virtual void forget(const member_key& worker) = 0;
  // Returns the bytes of a chunk's parameters, or of its gradient.
  virtual std::uint64_t bytes_of(std::uint32_t slot) const = 0;

  // Calls ingress_core::go_on() once, soon, after a look at the network.
  virtual void go_on_soon() = 0;
  // Calls ingress_core::post_acks() once, before the network is progressed again.
  virtual void post_acks_soon() = 0;
  // Notes in the log that a frame was refused with `code`.
  virtual void note_refusal(const frame_tag& tag, reply_code code) = 0;
};

}  // namespace tidegate::policies
