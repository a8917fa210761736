// Connections to members that broke and are made again.
#include <utility>

#include "policies/protocol/frame_tags.hpp"
#include "policies/shard/front_core.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::frame_kind;

void front_core::connection_broke(peer_id peer, std::int64_t now) {
  const auto* at = member_at(peer);
  if (!at) return;
  const auto key = *at;
  peer_lost(peer);
  reconnects_.broke(key, now);
}

void front_core::mend(std::int64_t now) {
  reconnects_.attempt_due(now, [&](const member_key& key, std::uint64_t attempt) {
    auto* known = find(key.job, key.rank);
    if (!known || known->incarnation != key.incarnation) {
      reconnects_.forget(key);
      return true;
    }
    TIDEGATE_RARE("front: a connection to a member is made again");
    if (!known->lost) leave(known->peer);  // an attempt that nobody has answered
    known->lost = true;
    const auto peer = shell_.reconnect(key);
    if (!peer) return false;
    known->peer = *peer;
    known->lost = false;
    peers_[*peer] = key;
    frame_tag tag;
    tag.job = key.job;
    tag.rank = key.rank;
    tag.incarnation = key.incarnation;
    send_resend(tag, frame_kind::resend, attempt);
    // Workers do not answer a replica.
    known->unverified = core_.registry().epoch_of(key.job) == 0;
    if (known->unverified) reconnects_.forget(key);
    return true;
  });
}

void front_core::promoted(std::uint64_t job) {
  const auto at = members_.find(job);
  if (at == members_.end()) return;
  for (const auto& [rank, known] : at->second)
    if (known.lost || known.unverified) reconnects_.doubt({job, rank, known.incarnation});
  ask_the_untold(job);
}

// A coordinator that has died may have told a member of a table, and not this process.
void front_core::refused(const frame_tag& tag, refusal code) {
  shell_.note_refusal(tag, code);
  if (is_not_told(code)) wait_to_ask(tag);
}

// Where so many wait already, this member must be a stranger's invention.
void front_core::wait_to_ask(const frame_tag& tag) {
  if (untold_.size() < runtime::limits::workers_max)
    untold_.insert({tag.job, tag.rank, tag.incarnation});
}

void front_core::ask_the_untold(std::uint64_t job) {
  if (runtime::is_planted(runtime::planted_bug::refused_member_not_asked_again)) return;
  std::erase_if(untold_, [&](const member_key& key) {
    const auto* known = key.job == job ? find(key.job, key.rank) : nullptr;
    if (!known || known->lost) return false;
    if (known->incarnation != key.incarnation) return known->incarnation > key.incarnation;
    TIDEGATE_RARE("front: what was refused or had no room is asked for again");
    frame_tag tag;
    tag.job = key.job;
    tag.rank = key.rank;
    tag.incarnation = key.incarnation;
    send_resend(tag, frame_kind::resend, 0);
    return true;
  });
}

// A frame gives its room back now, before what members answer can be here.
void front_core::ask_the_unplaced() {
  if (!std::exchange(unplaced_, false)) return;
  for (const auto& [job, ranks] : members_) ask_the_untold(job);
}

// A member that asks may have lost our attempt, if it had no connection to answer over.
void front_core::on_resend(const frame_tag& tag, const runtime::frame_header& header) {
  const member_key key{tag.job, tag.rank, tag.incarnation};
  if (header.kind == frame_kind::resent) {
    reconnects_.answered(key, header.request);
    return;
  }
  if (core_.registry().check_worker(tag) != refusal::none) return;
  if (const auto* known = find(tag.job, tag.rank); !known || known->lost)
    return reconnects_.doubt(key);
  if (header.request != 0) send_resend(tag, frame_kind::resent, header.request);
  if (const auto attempt = reconnects_.attempt_of(key); attempt != 0)
    send_resend(tag, frame_kind::resend, attempt);
}

// With the epoch of the job's frames here, by which members know whose word it is.
void front_core::send_resend(const frame_tag& tag, frame_kind kind, std::uint64_t attempt) {
  auto with_epoch = tag;
  with_epoch.epoch = core_.registry().epoch_of(tag.job);
  auto header = header_of(kind, with_epoch, refusal::none);
  header.table = runtime::whole_job;
  header.chunk = runtime::whole_job;
  header.clock = 0;
  header.request = attempt;
  send(with_epoch, header);
}

}  // namespace tidegate::policies
