// The connections to the two neighbours in the chain: those that broke are made again, and each
// side asks the other to send again what was lost.
//
// One thread. Nothing allocates once both neighbours have been known.
#pragma once

#include <cstdint>

#include "policies/shard/replication_shell.hpp"
#include "policies/supervision/reconnect_schedule.hpp"
#include "runtime/base/frame_header.hpp"

namespace tidegate::policies::sharding {

struct chain_state;

class chain_links {
 public:
  using peer_id = ingress_shell::peer_id;

  explicit chain_links(chain_state& state) : state_(state) {}

  // Forgets the attempts to reach this neighbour: it is another process now, or none.
  void forget(neighbour to) { reconnects_.forget(to); }
  // replication_core::connected_to_replica(), connection_broke(), mend().
  void connected_to_replica(std::int64_t now) {
    send_resend(neighbour::replica, runtime::frame_kind::resend,
                reconnects_.begun(neighbour::replica, now));
  }
  bool connection_broke(peer_id peer, std::int64_t now);
  void mend(std::int64_t now);
  bool is_mending() const noexcept { return !reconnects_.empty(); }
  void set_limits(const reconnect_limits& limits) { reconnects_.set_limits(limits); }
  auto outages(std::int64_t now, std::int64_t longer_than) const {
    return reconnects_.outages(now, longer_than);
  }
  // Takes in a neighbour's `resend` or `resent`.
  void on_resend(const runtime::frame_header& header);
  // Asks a neighbour, if there is one, to send again what was lost, or answers that.
  void send_resend(neighbour to, runtime::frame_kind kind, std::uint64_t attempt);

 private:
  chain_state& state_;
  reconnect_schedule<neighbour> reconnects_;
};

}  // namespace tidegate::policies::sharding
