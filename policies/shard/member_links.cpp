#include "policies/shard/member_links.hpp"

#include <utility>

#include "policies/protocol/frame_tags.hpp"
#include "policies/shard/ingress_state.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::sharding {

using runtime::frame_kind;

namespace {

frame_tag tag_for(const member_key& key) {
  frame_tag tag;
  tag.job = key.job;
  tag.rank = key.rank;
  tag.incarnation = key.incarnation;
  return tag;
}

member_key key_of(const frame_tag& tag) {
  return {.job = tag.job, .rank = tag.rank, .incarnation = tag.incarnation};
}

}  // namespace

member_links::member* member_links::find(std::uint64_t job, std::uint32_t rank) {
  const auto at = members_.find(job);
  if (at == members_.end()) return nullptr;
  const auto worker = at->second.find(rank);
  return worker == at->second.end() ? nullptr : &worker->second;
}

member_links::member* member_links::find(const frame_tag& tag) {
  auto* worker = find(tag.job, tag.rank);
  return worker && worker->incarnation == tag.incarnation ? worker : nullptr;
}

void member_links::pulls(const frame_tag& tag, std::uint64_t device_buffers) {
  auto* worker = find(tag);
  if (!worker) return;
  const auto at = worker->on_device.find(tag.table);
  if (at == worker->on_device.end()) return;
  auto& reader = at->second;
  const bool is_late = tag.request < reader.request &&
                       !runtime::is_planted(runtime::planted_bug::device_named_for_a_late_pull);
  if (is_late) return;
  reader.request = tag.request;
  reader.buffers = device_buffers;
}

bool member_links::reads_on_device(const frame_tag& tag, std::uint32_t version_buffer) {
  const auto* worker = find(tag);
  if (!worker || version_buffer >= runtime::device_buffers_max) return false;
  const auto at = worker->on_device.find(tag.table);
  if (at == worker->on_device.end()) return false;
  const auto& reader = at->second;
  if (reader.request != tag.request &&
      !runtime::is_planted(runtime::planted_bug::device_named_for_a_late_pull))
    return false;
  return (reader.buffers >> version_buffer & 1) != 0 ||
         runtime::is_planted(runtime::planted_bug::device_named_unknown_to_the_worker);
}

const member_key* member_links::member_at(peer_id peer) const {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : &at->second;
}

// A stranger has no address; who is gone asks again when it is back, and not its successor.
const member_links::member* member_links::reachable(const frame_tag& tag) {
  const auto* worker = find(tag);
  return worker && !worker->lost ? worker : nullptr;
}

void member_links::send(const frame_tag& tag, runtime::frame_header header) {
  const auto* worker = reachable(tag);
  if (!worker) return;
  header.shard = static_cast<std::uint16_t>(state_.index);
  state_.shell.send(worker->peer, header);
}

void member_links::send_all(runtime::frame_header header) {
  const auto at = members_.find(header.job);
  if (at == members_.end()) return;
  header.shard = static_cast<std::uint16_t>(state_.index);
  for (const auto& [rank, known] : at->second) {
    if (known.lost) continue;
    header.worker = rank;
    header.incarnation = known.incarnation;
    state_.shell.send(known.peer, header);
  }
}

bool member_links::expect(const admit_worker_call& call) {
  const auto* known = find(call.token, call.rank);
  if (!known || known->incarnation != call.incarnation) return true;
  // It has a connection, or one that is made again: with it the member is asked for frames that
  // were lost, as nobody would be over a connection made here.
  if (known->lost)
    reconnects_.doubt({.job = call.token, .rank = call.rank, .incarnation = call.incarnation});
  return false;
}

void member_links::connected(const admit_worker_call& call, peer_id peer) {
  auto* known = find(call.token, call.rank);
  if (known) leave(known->peer);
  if (known && known->incarnation != call.incarnation) {
    TIDEGATE_RARE("front: a worker comes back as another process");
    reconnects_.forget(
        {.job = call.token, .rank = call.rank, .incarnation = known->incarnation});
    state_.replies.give_up(call.token, call.rank);
    state_.shell.forget(
        {.job = call.token, .rank = call.rank, .incarnation = known->incarnation});
    *known = {};
  }
  auto& worker = members_[call.token][call.rank];
  worker.incarnation = call.incarnation;
  worker.peer = peer;
  worker.lost = false;
  peers_[peer] = {.job = call.token, .rank = call.rank, .incarnation = call.incarnation};
  reconnects_.forget(peers_[peer]);
  ask_refused(call.token);
}

void member_links::remove(std::uint64_t job, std::uint32_t rank) {
  const auto* known = find(job, rank);
  if (!known) return;
  const auto peer = known->peer;
  const member_key key{.job = job, .rank = rank, .incarnation = known->incarnation};
  members_[job].erase(rank);
  std::erase_if(
      to_ask_, [&](const member_key& other) { return other.job == job && other.rank == rank; });
  reconnects_.forget(key);
  leave(peer);
  state_.replies.give_up(job, rank);
  state_.shell.forget(key);
}

void member_links::closed(std::uint64_t job) {
  const auto at = members_.find(job);
  std::vector<std::uint32_t> lost;
  if (at != members_.end())
    for (const auto& [rank, known] : at->second)
      if (known.lost) lost.push_back(rank);
  for (const auto rank : lost) remove(job, rank);
  if (at == members_.end() || at->second.empty() ||
      runtime::is_planted(runtime::planted_bug::memory_given_back_under_workers))
    deserted_.push_back(job);
}

void member_links::peer_lost(peer_id peer) {
  const auto* at = member_at(peer);
  if (!at) return;
  const auto lost = *at;
  auto* worker = find(lost.job, lost.rank);
  // Its memory stays: steps that read it may be waiting.
  if (worker && worker->peer == peer) worker->lost = true;
  leave(peer);
  if (state_.core.registry().is_closed(lost.job)) closed(lost.job);
}

// Replies that wait for this peer are not sent any more.
void member_links::leave(peer_id peer) {
  peers_.erase(peer);
  dropped_.clear();
  state_.shell.drop(peer, dropped_);
  for (const auto name : dropped_) state_.replies.sent(name);
}

void member_links::connection_broke(peer_id peer, std::int64_t now) {
  const auto* at = member_at(peer);
  if (!at) return;
  const auto key = *at;
  peer_lost(peer);
  const auto& registry = state_.core.registry();
  // Nobody answers a replica, which would connect to members that have finished for ever: what
  // is lost there is made again when it is promoted.
  const bool is_replica = registry.epoch_of(key.job) == 0;
  if (!registry.is_closed(key.job) && !is_replica) reconnects_.broke(key, now);
}

void member_links::mend(std::int64_t now) {
  reconnects_.attempt_due(now, [&](const member_key& key, std::uint64_t attempt) {
    auto* known = find(key.job, key.rank);
    if (!known || known->incarnation != key.incarnation) {
      reconnects_.forget(key);
      return true;
    }
    if (state_.core.registry().is_closed(key.job)) {
      remove(key.job, key.rank);
      closed(key.job);
      return true;
    }
    TIDEGATE_RARE("front: a connection to a member is made again");
    if (!known->lost) leave(known->peer);  // an attempt that nobody has answered
    known->lost = true;
    const auto peer = state_.shell.reconnect(key);
    if (!peer) return false;
    known->peer = *peer;
    known->lost = false;
    peers_[*peer] = key;
    send_resend(tag_for(key), frame_kind::resend, attempt);
    // Workers do not answer a replica.
    known->unverified = state_.core.registry().epoch_of(key.job) == 0;
    if (known->unverified) reconnects_.forget(key);
    return true;
  });
}

void member_links::promoted(std::uint64_t job) {
  const auto at = members_.find(job);
  if (at == members_.end()) return;
  for (const auto& [rank, known] : at->second)
    if (known.lost || known.unverified)
      reconnects_.doubt({.job = job, .rank = rank, .incarnation = known.incarnation});
  ask_refused(job);
}

// A coordinator that has died may have told a member of a table, and not this process.
void member_links::refused(const frame_tag& tag, reply_code code) {
  state_.shell.note_refusal(tag, code);
  if (is_not_told(code)) wait_to_ask(tag);
}

void member_links::had_no_room(const frame_tag& tag) {
  wait_to_ask(tag);
  unplaced_ = true;
}

// Where so many wait already, this member must be a stranger's invention.
void member_links::wait_to_ask(const frame_tag& tag) {
  if (to_ask_.size() < runtime::limits::workers_max) to_ask_.insert(key_of(tag));
}

void member_links::ask_refused(std::uint64_t job) {
  if (runtime::is_planted(runtime::planted_bug::refused_member_not_asked_again)) return;
  std::erase_if(to_ask_, [&](const member_key& key) {
    const auto* known = key.job == job ? find(key.job, key.rank) : nullptr;
    if (!known || known->lost) return false;
    if (known->incarnation != key.incarnation) return known->incarnation > key.incarnation;
    TIDEGATE_RARE("front: what was refused or had no room is asked for again");
    send_resend(tag_for(key), frame_kind::resend, 0);
    return true;
  });
}

// A frame gives its room back now, before what members answer can be here.
void member_links::ask_unplaced() {
  if (!std::exchange(unplaced_, false)) return;
  for (const auto& [job, ranks] : members_) ask_refused(job);
}

// A member that asks may have lost our attempt, if it had no connection to answer over.
void member_links::on_resend(const frame_tag& tag, const runtime::frame_header& header) {
  const auto key = key_of(tag);
  if (header.kind == frame_kind::resent) {
    reconnects_.answered(key, header.request);
    return;
  }
  if (state_.core.registry().check_worker(tag) != reply_code::ok) return;
  if (const auto* known = find(tag.job, tag.rank); !known || known->lost)
    return reconnects_.doubt(key);
  if (header.request != 0) send_resend(tag, frame_kind::resent, header.request);
  if (const auto attempt = reconnects_.attempt_of(key); attempt != 0)
    send_resend(tag, frame_kind::resend, attempt);
}

// With the epoch of the job's frames here, by which members know whose word it is.
void member_links::send_resend(const frame_tag& tag, frame_kind kind, std::uint64_t attempt) {
  auto with_epoch = tag;
  with_epoch.epoch = state_.core.registry().epoch_of(tag.job);
  auto header = header_of(kind, with_epoch, reply_code::ok);
  header.table = runtime::whole_job;
  header.chunk = runtime::whole_job;
  header.clock = 0;
  header.request = attempt;
  send(with_epoch, header);
}

}  // namespace tidegate::policies::sharding
