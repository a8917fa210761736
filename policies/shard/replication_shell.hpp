// What the side of a shard that faces its neighbours in the chain asks of its shell, which
// touches memory and a network. One thread; no function of a shell may call replication_core
// back.
#pragma once

#include <cstdint>
#include <optional>

#include "policies/protocol/frame_tag.hpp"
#include "policies/shard/chunk_replication.hpp"
#include "policies/shard/effects.hpp"
#include "policies/shard/ingress_shell.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// The two processes beside this one in the chain.
enum class neighbour : std::uint8_t { primary, replica };

class replication_shell {
 public:
  using effects = shard_effects;
  using peer_id = ingress_shell::peer_id;

  virtual ~replication_shell() = default;

  // Sends a frame without payload.
  virtual void send_plain(peer_id to, const runtime::frame_header& header) = 0;
  // Sends where the sums of header.table lie, as the payload, and sets header.version to their
  // size in bytes.
  virtual void lend_sums(peer_id to, const runtime::frame_header& header) = 0;
  // Copies the gradient of a step, replicate.payload, to the place of the table's sums of
  // replicate.clock, before it returns.
  virtual void keep_sum(const effects::replicate& replicate) = 0;
  // Maps the sums of header.table of the primary: `place` is the payload that its lend_sums()
  // sent, which is released in any case. Returns false if they cannot be read here.
  virtual bool map_sums(const runtime::frame_header& header, payload_handle place) = 0;
  // Returns a name for the slot's sum in that buffer of the primary's sums, to be released, or
  // no_payload if the sum cannot be read.
  virtual payload_handle sum_in_place(std::uint32_t slot, std::uint32_t version_buffer) = 0;
  // Connects to this neighbour anew, in place of a connection that broke. Returns nothing if no
  // connection could be begun.
  virtual std::optional<peer_id> reconnect(neighbour to) = 0;
  // Calls replication_core::post() once, before the network is progressed again.
  virtual void post_soon() = 0;
  // Sends the gradient of a step, header.payload_bytes of it: replicate.payload, or the sum
  // that was kept for replicate.clock if that is no_payload. Either stays until the replica has
  // answered.
  virtual void send_step(peer_id to, const runtime::frame_header& header,
                         const effects::replicate& replicate) = 0;
  // Sends the chunk in the form of chunk_seed; the shell sets header.payload_bytes. The first
  // time it copies the chunk before it returns, and keeps the copy until seed_arrived();
  // `retransmit`: it sends that copy again.
  virtual void send_seed(peer_id to, const runtime::frame_header& header,
                         const effects::seed& seed, const shard_core::seed_state& state,
                         bool retransmit) = 0;
  // Lets go of the copy that send_seed() kept: the replica has the chunk.
  virtual void seed_arrived(std::uint32_t slot) = 0;
  // Decodes a chunk that the primary has handed over, puts its arrays into the version buffers
  // of the slot (seed_buffer, kept_buffer()) and the optimizer's state, and returns the rest.
  // The payload is released in any case. Errors: corrupt (not of this form or size).
  virtual runtime::expected<shard_core::seed_state> take_seed(std::uint32_t slot,
                                                              payload_handle payload) = 0;
  // Takes back a payload of frame() that is not taken in.
  virtual void release_payload(payload_handle payload) = 0;
  // Returns the bytes of a chunk's gradient.
  virtual std::uint64_t chunk_bytes(std::uint32_t slot) const = 0;
  // Tells the coordinator that the replica of this view has everything.
  virtual void in_sync(std::uint32_t view) = 0;
  // Ends this process: another one has taken its place, as it hears in this view.
  virtual void replaced(std::uint32_t view) = 0;
};

}  // namespace tidegate::policies
