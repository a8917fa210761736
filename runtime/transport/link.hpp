// The seam to the network: frames between processes. Backends: host_link within a host, ucx
// (runtime/ucx) between hosts, and loopback.
//
// Thread rule: a link, its sink and every call belong to one reactor thread; only wake-ups come
// from elsewhere. Callbacks run inside progress(), never inside post() or connect(). A link may
// deliver frames late and in any order, never torn; the loss of a peer is reported once. Both
// sides connect to each other before frames flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/status.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/transport/bundle.hpp"
#include "runtime/transport/frame.hpp"

namespace tidegate::runtime {

using peer_id = std::uint32_t;     // of this link, never reused
using send_token = std::uint64_t;  // the caller's name for a post; 0: no need to know

// A frame on its way out. header.payload_bytes equals payload.size(). `payload` must stay
// unchanged until on_sent(token), or for token 0 until nothing can refer to it any more.
struct outgoing {
  frame_header header;
  std::span<const std::byte> payload;
  send_token token = 0;
};

// What a link tells its owner, which implements this. Called inside progress() and close().
class frame_sink {
 public:
  virtual ~frame_sink() = default;
  // Returns the buffer for the payload of a frame that is arriving, of exactly payload_bytes.
  // An empty buffer refuses the frame, which is then dropped (the sink has counted and answered
  // it). on_frame() or on_frame_lost() follows for each frame that was given a place.
  virtual buffer place(const frame_header& header) = 0;
  // A whole frame has arrived. `payload` is the placed buffer, empty for frames without
  // payload.
  virtual void on_frame(const frame_header& header, buffer payload) = 0;
  // A frame that was given a place will not come after all: its connection has ended, and its
  // sender has died or connected again, or this side has given its own connection up.
  virtual void on_frame_lost(const frame_header& header) = 0;
  // The memory of this post may be used again. Follows once for each token that is not 0,
  // unless the link is closed before. If `outcome` is a failure the peer is lost, too.
  virtual void on_sent(send_token token, const status& outcome) = 0;
  // Bytes that are no frame arrived and were dropped.
  virtual void on_bad_frame(const status& why) = 0;
  // Nothing more comes from or goes to this peer over this connection. `why` is not_found if
  // the peer's process or link has ended, else unavailable: the connection broke, and the peer
  // may live and be connected to again.
  virtual void on_peer_lost(peer_id peer, const status& why) = 0;
};

// Where a peer is: on this host, or on another, to which shared memory does not lead even if it
// looks so (network namespaces of one machine stand for hosts).
enum class reach : std::uint8_t { host, network };

// Counters of a link since it was made.
struct link_counters {
  std::uint64_t messages_sent = 0;  // a frame, or a bundle of several
  std::uint64_t frames_sent = 0;
  std::uint64_t frames_received = 0;
  std::uint64_t frames_bad = 0;      // did not decode
  std::uint64_t frames_refused = 0;  // the sink gave no place
  std::uint64_t payload_bytes_sent = 0;
  std::uint64_t payload_bytes_received = 0;
  std::uint64_t payload_bytes_copied = 0;  // moved by the CPU in our code
};

// Connections of one process to its peers. Its owner calls progress() again and again, or
// sleeps on event_fd() after arm().
class link {
 public:
  virtual ~link() = default;

  // Sets the sink, which must be set before the first progress() and outlive the link.
  virtual void set_sink(frame_sink* sink) = 0;
  // Returns opaque bytes with which a peer's connect() reaches this link.
  virtual std::string address() const = 0;
  // Starts a connection; frames may be posted at once. If the peer is gone already,
  // on_peer_lost() follows soon. Errors: unavailable (no common transport).
  virtual expected<peer_id> connect(std::string_view address, reach where) = 0;
  expected<peer_id> connect(std::string_view address) { return connect(address, reach::host); }
  // Gives a connection up: its peer is dead, which a network may notice late or never and frame
  // rings do not, or another connection takes its place. All that is under way ends soon, in
  // progress(): on_frame_lost() for frames that were given a place, on_sent() for posts;
  // on_peer_lost() does not follow. The memory of the connection is given back. Called again it
  // does nothing.
  virtual void disconnect(peer_id peer) = 0;
  // Sends a frame; `payload` stays the caller's (see outgoing). Failures come by on_sent() and
  // on_peer_lost().
  virtual void post(peer_id peer, const frame_header& header,
                    std::span<const std::byte> payload, send_token token) = 0;
  // Sends frames with payload in one message (bundle.hpp): at least one, at most
  // bundle_frames_most() and bundle_payload_bytes_max. The other side receives the frames one
  // by one, and may refuse some. on_sent() follows for their tokens in order, one right after
  // another.
  virtual void post_bundle(peer_id peer, std::span<const outgoing> frames) = 0;
  // Returns how many frames a bundle may have, at most bundle_frames_max; 1 where bundles would
  // not pay.
  virtual std::size_t bundle_frames_most() const = 0;
  // Moves what can be moved, and returns how many things happened (0: idle).
  virtual unsigned progress() = 0;
  // Returns a descriptor that is readable when progress() has work, once arm() has returned
  // true. Owned by the link.
  virtual int event_fd() const = 0;
  // Prepares event_fd() for a sleep. Returns false if there may be work: progress() is to be
  // called first.
  virtual bool arm() = 0;
  // While patient, a sleeper is not woken for acknowledgements alone: they are there when
  // something else wakes it. For a caller that waits for something else.
  virtual void set_patient(bool /*patient*/) {}
  // Sends out what was posted, for at most `flush_ms_max`, then closes every connection.
  virtual void close(std::uint32_t flush_ms_max) = 0;
  // Returns a source of the memory that this link moves fastest. It may outlive the link.
  virtual std::shared_ptr<memory_source> memory() = 0;
  virtual const link_counters& counters() const = 0;
  // Returns true if frames may be lost while a connection lives; whoever waits asks again then.
  virtual bool loses_frames() const noexcept { return false; }
};

}  // namespace tidegate::runtime
