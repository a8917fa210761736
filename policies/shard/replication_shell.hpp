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

  virtual void send_plain(peer_id to, const runtime::frame_header& header) = 0;
  // Sends where the sums of a table lie: in the payload, with their bytes as header.version.
  virtual void lend_sums(peer_id to, const runtime::frame_header& header) = 0;
  // The gradient of a step, replicate.payload, is to lie there, too.
  virtual void keep_sum(const effects::replicate& replicate) = 0;
  // A replica reads them from now on; the payload goes. Returns false if it cannot.
  virtual bool map_sums(const runtime::frame_header& header, payload_handle place) = 0;
  // Returns the sum in that version buffer, to be released, or no_payload if it cannot be read.
  virtual payload_handle sum_in_place(std::uint32_t slot, std::uint32_t version_buffer) = 0;
  // Connects to this neighbour anew, in place of a connection that broke. Returns nothing if no
  // connection could be begun.
  virtual std::optional<peer_id> reconnect(neighbour to) = 0;
  // Call post() before the network is progressed again.
  virtual void post_soon() = 0;
  // Sends the gradient of a step: replicate.payload, or the sum that was kept.
  // header.payload_bytes is set.
  virtual void send_step(peer_id to, const runtime::frame_header& header,
                         const effects::replicate& replicate) = 0;
  // Sends the chunk as it is; see chunk_seed. Sent again it is as it was the first time.
  virtual void send_seed(peer_id to, const runtime::frame_header& header,
                         const effects::seed& seed, const shard_core::seed_state& state,
                         bool retransmit) = 0;
  // The chunk is there: what was kept to send it again may go.
  virtual void seed_arrived(std::uint32_t slot) = 0;
  // A replica puts what has arrived into the version buffers of the slot. Errors: corrupt.
  virtual runtime::expected<shard_core::seed_state> take_seed(std::uint32_t slot,
                                                              payload_handle payload) = 0;
  virtual void release_payload(payload_handle payload) = 0;
  virtual std::uint64_t chunk_bytes(std::uint32_t slot) const = 0;
  // The replica has everything of this view.
  virtual void in_sync(std::uint32_t view) = 0;
  // Another process is the primary of the group.
  virtual void replaced(std::uint32_t view) = 0;
};

}  // namespace tidegate::policies
