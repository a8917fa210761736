#include "policies/shard/chain_links.hpp"

#include "policies/shard/chain_state.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::sharding {

using runtime::frame_header;
using runtime::frame_kind;

bool chain_links::connection_broke(peer_id peer, std::int64_t now) {
  const bool leads_it = state_.feeder.peer() == peer;
  const bool follows_it = state_.receiver.follows() && state_.receiver.peer() == peer;
  if (runtime::is_planted(runtime::planted_bug::replica_not_connected_again))
    return leads_it || follows_it;
  if (leads_it) reconnects_.broke(neighbour::replica, now);
  if (follows_it) reconnects_.broke(neighbour::primary, now);
  return leads_it || follows_it;
}

// Steps follow when the neighbour answers: until then nobody knows whether frames come through.
void chain_links::mend(std::int64_t now) {
  reconnects_.attempt_due(now, [&](neighbour to, std::uint64_t attempt) {
    TIDEGATE_RARE("shard: a connection within a chain is made again");
    const auto peer = state_.shell.reconnect(to);
    if (!peer) return false;
    if (to == neighbour::replica)
      state_.feeder.set_peer(*peer);
    else
      state_.receiver.set_peer(*peer);
    send_resend(to, frame_kind::resend, attempt);
    return true;
  });
}

// A neighbour that asks may have lost our attempt, if it had no connection to answer over.
void chain_links::on_resend(const frame_header& header) {
  const bool from_replica = (header.flags & runtime::frame_flag_up) != 0;
  const auto from = from_replica ? neighbour::replica : neighbour::primary;
  const bool is_current = from_replica ? state_.feeder.leads_in(header.epoch)
                                       : state_.receiver.follows_in(header.epoch);
  if (!is_current) return;
  if (header.kind == frame_kind::resent) {
    const bool lost_nothing = reconnects_.lost_nothing(from);
    if (reconnects_.answered(from, header.request) && from_replica && !lost_nothing)
      state_.feeder.resend_all();
    return;
  }
  if (header.request != 0) send_resend(from, frame_kind::resent, header.request);
  reconnects_.lost_something(from);
  const auto attempt = reconnects_.attempt_of(from);
  if (attempt != 0) return send_resend(from, frame_kind::resend, attempt);
  if (from_replica && !reconnects_.is_broken(from) &&
      reconnects_.is_unserved(from, header.request))
    state_.feeder.resend_all();
}

void chain_links::send_resend(neighbour to, frame_kind kind, std::uint64_t attempt) {
  const bool to_replica = to == neighbour::replica;
  frame_header header;
  header.kind = kind;
  header.epoch = to_replica ? state_.feeder.view() : state_.receiver.view();
  header.chunk = runtime::whole_job;
  header.flags = to_replica ? std::uint16_t{0} : runtime::frame_flag_up;
  header.request = attempt;
  const auto& peer = to_replica ? state_.feeder.peer() : state_.receiver.peer();
  if (peer) state_.shell.send_plain(*peer, header);
}

}  // namespace tidegate::policies::sharding
