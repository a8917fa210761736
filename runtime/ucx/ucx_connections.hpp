// The connections of a link over UCX, by peer: made, broken, given up and closed.
//
// Owns UCX's endpoints, the requests that close them, and the losses that are not told yet.
// A connection is lost once, and then nothing is sent over it; its peer_id is never used again.
// UCX then ends what is under way over it. One reactor thread; UCX reports broken connections
// from within its turns and from within sends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ucp/api/ucp.h>

#include "runtime/base/assert.hpp"
#include "runtime/base/status.hpp"
#include "runtime/transport/frame_delivery.hpp"
#include "runtime/ucx/ucx_worker.hpp"

namespace tidegate::runtime {

class ucx_connections {
 public:
  ucx_connections(ucx_worker& worker, frame_delivery& delivery) noexcept
      : worker_(worker), delivery_(delivery) {}
  ucx_connections(const ucx_connections&) = delete;
  ucx_connections& operator=(const ucx_connections&) = delete;

  // Errors: unavailable (no common transport), invalid_argument (no address of this UCX). The
  // number of connections may have grown nevertheless.
  expected<peer_id> connect(std::string_view address);
  // Its peer is dead, it was said, or another connection takes its place. It ends in
  // end_departing() and is not reported.
  void disconnect(peer_id peer);

  std::size_t size() const noexcept { return peers_.size(); }
  // Returns the endpoint to send over; null if the connection is lost. Hot path.
  ucp_ep_h endpoint(peer_id peer) const noexcept {
    TIDEGATE_ASSERT(peer < peers_.size(), "a peer of this link");
    const auto& to = peers_[peer];
    return to.lost ? nullptr : to.endpoint;
  }
  // Returns UCX's number of the worker at the other end.
  std::uint64_t number(peer_id peer) const noexcept { return peers_[peer].number; }

  // Returns the connections to the same worker that have been given up before this one, the
  // latest of them.
  std::vector<peer_id> given_up_before(peer_id peer) const;
  // Returns another connection to the same worker that stands, the latest.
  std::optional<peer_id> other_than(peer_id peer) const;
  // Ends this endpoint of UCX, of a connection, which is lost then, or of what a peer has made.
  // What is under way over it ends in later turns.
  void end(ucp_ep_h endpoint);

  // The connection has broken. It is reported in tell_lost(), once.
  void lose(peer_id peer, ucs_status_t code) { lose(peers_[peer], code); }
  // Ends what was disconnected. Returns how many connections those are.
  unsigned end_departing() {
    return departing_.empty() && closing_.empty() ? 0 : close_departing();
  }
  // Reports lost peers, and returns how many.
  unsigned tell_lost();
  // Returns true if there is something to end or to tell.
  bool has_work() const noexcept {
    return !lost_.empty() || !departing_.empty() || !closing_.empty();
  }

  // Sends out what is on its way, within the time given, and closes all. Returns false if
  // requests of UCX do not end.
  bool close(std::uint32_t flush_ms_max);
  // Forgets what is not told yet.
  void clear() noexcept;

 private:
  struct connection {
    ucx_connections* owner = nullptr;
    peer_id id = 0;
    ucp_ep_h endpoint = nullptr;
    std::uint64_t number = 0;  // of the worker at the other end
    bool lost = false;
    bool departs = false;
  };
  struct loss {
    peer_id peer;
    ucs_status_t code;
  };

  static void on_error(void* peer, ucp_ep_h endpoint, ucs_status_t code);
  void lose(connection& peer, ucs_status_t code);
  expected<std::string> address_of_next(std::string_view address, std::uint64_t number) const;
  unsigned close_departing();
  void close_by_force(ucp_ep_h endpoint);

  ucx_worker& worker_;
  frame_delivery& delivery_;
  std::deque<connection> peers_;  // UCX holds their addresses
  std::vector<loss> lost_;
  std::vector<peer_id> departing_;  // dead, it was said
  std::vector<void*> closing_;      // connections, by request
};

}  // namespace tidegate::runtime
