// Connections between neighbours that broke and are made again.
#include "policies/shard/replication_core.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::frame_header;
using runtime::frame_kind;

bool replication_core::connection_broke(peer_id peer, std::int64_t now) {
  const bool leads_it = replica_ == peer;
  const bool follows_it = follows_ && primary_ == peer;
  if (runtime::is_planted(runtime::planted_bug::replica_not_connected_again))
    return leads_it || follows_it;
  if (leads_it) reconnects_.broke(neighbour::replica, now);
  if (follows_it) reconnects_.broke(neighbour::primary, now);
  return leads_it || follows_it;
}

// Steps follow when the neighbour answers: until then nobody knows whether frames come through.
void replication_core::mend(std::int64_t now) {
  reconnects_.attempt_due(now, [&](neighbour to, std::uint64_t attempt) {
    TIDEGATE_RARE("shard: a connection within a chain is made again");
    const auto peer = shell_.reconnect(to);
    if (!peer) return false;
    (to == neighbour::replica ? replica_ : primary_) = *peer;
    send_resend(to, frame_kind::resend, attempt);
    return true;
  });
}

// A neighbour that asks may have lost our attempt, if it had no connection to answer over.
void replication_core::on_resend(const frame_header& header) {
  const bool from_replica = (header.flags & runtime::frame_flag_up) != 0;
  const auto from = from_replica ? neighbour::replica : neighbour::primary;
  const bool is_current =
      from_replica ? replica_ && header.epoch == led_view_ : follows_ && header.epoch == view_;
  if (!is_current) return;
  if (header.kind == frame_kind::resent) {
    const bool lost_nothing = reconnects_.lost_nothing(from);
    if (reconnects_.answered(from, header.request) && from_replica && !lost_nothing)
      resend_all();
    return;
  }
  if (header.request != 0) send_resend(from, frame_kind::resent, header.request);
  reconnects_.lost_something(from);
  const auto attempt = reconnects_.attempt_of(from);
  if (attempt != 0) return send_resend(from, frame_kind::resend, attempt);
  if (from_replica && !reconnects_.is_broken(from) &&
      reconnects_.is_unserved(from, header.request))
    resend_all();
}

void replication_core::send_resend(neighbour to, frame_kind kind, std::uint64_t attempt) {
  frame_header header;
  header.kind = kind;
  header.epoch = to == neighbour::replica ? led_view_ : view_;
  header.chunk = runtime::whole_job;
  header.flags = to == neighbour::primary ? runtime::frame_flag_up : std::uint16_t{0};
  header.request = attempt;
  const auto& peer = to == neighbour::replica ? replica_ : primary_;
  if (peer) shell_.send_plain(*peer, header);
}

// What the replica has not answered.
void replication_core::resend_all() {
  for (const auto& [slot, step] : under_way_) send(step, true);
  for (const auto& [table, offer] : lending_) send_lend(offer.job, table);
  for (const auto& [farewell, again] : farewells_) send_farewell(farewell);
}

}  // namespace tidegate::policies
