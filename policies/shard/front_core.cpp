// From frames to the shard core. What the core says is carried out in front_effects.cpp.
#include "policies/shard/front_core.hpp"

#include <utility>

#include "policies/protocol/frame_tags.hpp"
#include "policies/protocol/gradient_half.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::frame_kind;
using runtime::is_planted;
using runtime::planted_bug;

namespace {

constexpr std::uint64_t no_job = 0;  // of the queue for frames that nobody knows

}  // namespace

front_core::admission front_core::admit(const admit_worker_call& call) {
  const auto code = core_.admin().admit_worker(call.token, call.rank, call.incarnation);
  if (code != refusal::none) return {code, false, 0};
  if (call.finished && !is_planted(planted_bug::farewell_forgotten_by_the_next_aggregator))
    about_job(call.token,
              [&](effects& out) { core_.admin().has_finished(call.token, call.rank, out); });
  const auto* known = find(call.token, call.rank);
  const bool is_new = !known || known->incarnation != call.incarnation;
  // It has a connection, or one that is made again: with it the member is asked for frames that
  // were lost, as nobody would be over a connection made here.
  if (!is_new && known->lost) reconnects_.doubt({call.token, call.rank, call.incarnation});
  return {code, is_new, core_.admin().first_missing(call.token, call.rank, call.tables)};
}

void front_core::connected(const admit_worker_call& call, peer_id peer) {
  auto* known = find(call.token, call.rank);
  if (known) leave(known->peer);
  if (known && known->incarnation != call.incarnation) {
    TIDEGATE_RARE("front: a worker comes back as another process");
    reconnects_.forget({call.token, call.rank, known->incarnation});
    give_up_replies(call.token, call.rank);
    shell_.forget({call.token, call.rank, known->incarnation});
    *known = {};
  }
  auto& worker = members_[call.token][call.rank];
  worker.incarnation = call.incarnation;
  worker.peer = peer;
  worker.lost = false;
  peers_[peer] = {call.token, call.rank, call.incarnation};
  reconnects_.forget(peers_[peer]);
  ask_the_untold(call.token);
}

std::uint64_t front_core::shut_out(const shut_out_call& call) {
  if (!call.only_asks) core_.membership().shut_out(call.token, call.rank);
  return core_.membership().pushed_below(call.token, call.rank);
}

std::uint64_t front_core::hold(const hold_call& call) {
  std::uint64_t come_to = 0;
  about_job(call.token, [&](effects& out) {
    come_to = core_.membership().hold(call.token, call.clock, call.rank, out);
  });
  return come_to;
}

void front_core::change_roster(const roster_call& call) {
  const auto& change = call.change;
  bool news = false;
  about_job(call.token, [&](effects& out) {
    news = core_.membership().change_roster(call.token, change, out);
  });
  const bool is_over = change.pushes_here && !change.joins;
  const auto* known = news && is_over ? find(call.token, change.rank) : nullptr;
  if (!known) return;
  const auto worker = *known;
  members_[call.token].erase(change.rank);
  std::erase_if(untold_, [&](const member_key& key) {
    return key.job == call.token && key.rank == change.rank;
  });
  reconnects_.forget({call.token, change.rank, worker.incarnation});
  leave(worker.peer);
  give_up_replies(call.token, change.rank);
  shell_.forget({call.token, change.rank, worker.incarnation});
}

void front_core::peer_lost(peer_id peer) {
  const auto* lost = member_at(peer);
  if (!lost) return;
  auto* worker = find(lost->job, lost->rank);
  // Its memory stays: steps that read it may be waiting.
  if (worker && worker->peer == peer) worker->lost = true;
  leave(peer);
}

const member_key* front_core::member_at(peer_id peer) const {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? nullptr : &at->second;
}

// Replies that wait for this peer are not sent any more.
void front_core::leave(peer_id peer) {
  peers_.erase(peer);
  dropped_.clear();
  shell_.drop(peer, dropped_);
  for (const auto name : dropped_) sent(name);
}

// A network may notice late that who was to have them is dead. Nobody reads them: what they are
// sent from may be written again, and the next process of that rank is answered anew.
void front_core::give_up_replies(std::uint64_t job, std::uint32_t rank) {
  for (auto& reply : sending_) {
    if (!reply.counts || reply.job != job || reply.rank != rank) continue;
    reply.counts = false;
    reply_sent(reply.slot, reply.rank, reply.plane);
  }
}

front_core::member* front_core::find(std::uint64_t job, std::uint32_t rank) {
  const auto at = members_.find(job);
  if (at == members_.end()) return nullptr;
  const auto worker = at->second.find(rank);
  return worker == at->second.end() ? nullptr : &worker->second;
}

bool front_core::place(const runtime::frame_header& header) {
  if (header.kind == frame_kind::attach) return true;
  if (header.kind != frame_kind::push) {
    refuse_push(header, refusal::wrong_size);
    return false;
  }
  const auto judged = core_.begin_push(tag_of(header), header.payload_bytes);
  if (judged.kind == push_admission::verdict::take) return true;
  if (judged.kind == push_admission::verdict::refuse) refuse_push(header, judged.code);
  if (judged.code == refusal::none) pull_of(header);
  return false;
}

// A push that is here already is not taken in again; what came along with it is new, where a
// worker that has come back repeats a clock. A pull that is old is known by its number.
void front_core::pull_of(const runtime::frame_header& header) {
  if ((header.flags & runtime::frame_flag_pull) == 0) return;
  TIDEGATE_RARE("front: a push is known and its pull is not");
  auto next = tag_of(header);
  ++next.clock;
  core_.pull(next, false, pending(next.job, next.table));
  go_on_soon();
}

void front_core::no_place(const runtime::frame_header& header) {
  if (header.kind == frame_kind::attach) {
    const auto tag = tag_of(header);
    const auto code = core_.registry().check_worker(tag);
    if (code != refusal::none && !is_not_told(code)) return;
    wait_to_ask(tag);
    unplaced_ = true;
    return;
  }
  if (header.kind != frame_kind::push) return;
  TIDEGATE_RARE("front: no memory for a push");
  core_.cancel_push(tag_of(header));
  refuse_push(header, refusal::no_memory);
}

void front_core::refuse_push(const runtime::frame_header& header, refusal code) {
  const auto tag = tag_of(header);
  // Behind what waits: a duplicate is not acknowledged before its step has been made.
  auto& out = pending(tag.job, tag.table);
  out.list.push_back(effects::acknowledge{tag, code});
  if (code != refusal::none && (header.flags & runtime::frame_flag_pull) != 0) {
    auto pull = tag;
    ++pull.clock;
    out.list.push_back(effects::reply{pull, code, 0, {}, false});
  }
  go_on_soon();  // not within the network's progress
}

// Its sender may believe that it is here: only what breaks before it arrives does it send again
// of its own accord.
void front_core::frame_lost(const runtime::frame_header& header) {
  if (header.kind == frame_kind::attach) return ask_the_unplaced();
  if (header.kind != frame_kind::push) return;
  TIDEGATE_RARE("front: a push is cut off on its way");
  core_.cancel_push(tag_of(header));
  if (!is_planted(planted_bug::cut_off_push_not_asked_for))
    send_resend(tag_of(header), frame_kind::resend, 0);
}

void front_core::frame(const runtime::frame_header& header, payload_handle payload,
                       std::span<const std::byte> bytes, std::uint64_t copied) {
  const auto tag = tag_of(header);
  switch (header.kind) {
    case frame_kind::push:
    case frame_kind::skip:
      on_push(tag, header, payload, copied);
      break;
    case frame_kind::pull:
      core_.pull(tag, (header.flags & runtime::frame_flag_final) != 0,
                 pending(tag.job, tag.table));
      break;
    case frame_kind::finished:
      about_job(core_.registry().check_worker(tag) == refusal::none ? tag.job : no_job,
                [&](effects& out) { core_.finished(tag, out); });
      break;
    case frame_kind::attach:
      on_attach(tag, bytes);
      break;
    case frame_kind::ring:
      on_ring(tag, header);
      break;
    case frame_kind::resend:
    case frame_kind::resent:
      on_resend(tag, header);
      break;
    case frame_kind::push_ack:
    case frame_kind::pull_reply:
    case frame_kind::attach_ack:
    case frame_kind::ring_ack:
    case frame_kind::ring_reply:
    case frame_kind::step:
    case frame_kind::seed:
    case frame_kind::farewell:
    case frame_kind::followed:
    case frame_kind::lend:
    case frame_kind::lent:
    case frame_kind::steps:
      shell_.note_refusal(tag, refusal::unknown_worker);  // not for shards
      break;
  }
  carry_out();
}

void front_core::on_push(const frame_tag& tag, const runtime::frame_header& header,
                         payload_handle payload, std::uint64_t copied) {
  auto* worker = find(tag.job, tag.rank);
  if (worker && worker->incarnation == tag.incarnation) worker->payload_bytes_copied += copied;
  core_.push(tag, payload, pending(tag.job, tag.table),
             (header.flags & runtime::frame_flag_pull) != 0);
}

// Maps the worker's gradients and says where the parameters are.
void front_core::on_attach(const frame_tag& tag, std::span<const std::byte> place) {
  ask_the_unplaced();
  auto code = core_.registry().check_table(tag);
  auto* worker = find(tag.job, tag.rank);
  if (code == refusal::none && (!worker || worker->incarnation != tag.incarnation))
    code = refusal::unknown_worker;  // admitted, but not connected
  if (code == refusal::none && core_.registry().slots_of(tag.table).empty())
    code = refusal::unknown_table;
  if (code == refusal::none && TIDEGATE_BUGGIFY("front: a window is refused"))
    code = refusal::no_window;
  if (code == refusal::none)
    code = shell_.map_gradients({tag.job, tag.rank, tag.incarnation}, tag.table, place);
  if (code == refusal::none) worker->attached.insert(tag.table);
  if (code != refusal::none) refused(tag, code);
  const auto* to = reachable(tag);
  if (!to) return;
  auto header = header_of(frame_kind::attach_ack, tag, code);
  header.shard = static_cast<std::uint16_t>(index_);
  if (code != refusal::none) return shell_.send(to->peer, header);
  shell_.send_place(to->peer, header);
}

void front_core::on_ring(frame_tag tag, const runtime::frame_header& header) {
  const auto has = [&](std::uint16_t flag) { return (header.flags & flag) != 0; };
  const shard_core::ring_request request{
      has(runtime::frame_flag_push), has(runtime::frame_flag_skip),
      has(runtime::frame_flag_pull), has(runtime::frame_flag_final)};
  auto* worker = find(tag.job, tag.rank);
  if (core_.registry().check_worker(tag) != refusal::none)
    return core_.ring(tag, request, {}, pending(tag.job, tag.table));  // refused
  if (!worker || worker->incarnation != tag.incarnation)
    return refused(tag, refusal::unknown_worker);  // admitted, but not connected
  const bool whole = tag.table == runtime::whole_job;
  // Not one of ours: we ring what is attached, in a half that there is.
  if (header.plane >= gradient_halves || (!whole && !worker->attached.contains(tag.table)))
    return shell_.note_refusal(tag, refusal::no_window);
  if (!whole) return ring_table(tag, header.plane, request);
  for (const auto table : worker->attached) {
    tag.table = table;
    ring_table(tag, header.plane, request);
  }
}

void front_core::ring_table(const frame_tag& tag, std::uint32_t half,
                            const shard_core::ring_request& request) {
  handles_.clear();
  if (request.push)
    for (const auto slot : core_.registry().slots_of(tag.table))
      handles_.push_back(
          shell_.keep_in_place({tag.job, tag.rank, tag.incarnation}, tag.table, half, slot));
  core_.ring(tag, request, handles_, pending(tag.job, tag.table));
}

// Strangers name tables as they like: those share one queue.
front_core::effects& front_core::pending(std::uint64_t job, std::uint32_t table) {
  return core_.registry().has_table(job, table) ? queue_.of(job, table)
                                                : queue_.of(no_job, runtime::whole_job);
}

}  // namespace tidegate::policies
