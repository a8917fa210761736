#include "tests/sim/front.hpp"

#include <cstring>
#include <utility>

#include "policies/frame_epoch.hpp"
#include "policies/frame_tags.hpp"
#include "policies/replication_core.hpp"
#include "runtime/base/assert.hpp"
#include "tests/sim/launcher.hpp"
#include "tests/sim/worker.hpp"

namespace tidegate::sim {

using policies::refusal;
using runtime::frame_kind;

namespace {

constexpr nanoseconds join_again_after = 10 * millisecond;

}  // namespace

front_process::front_process(world& where, process_id id, role what, std::string name,
                             std::uint32_t host, std::uint32_t index,
                             policies::shard_core& shard)
    : process(where, id, what, std::move(name), host),
      shard_(shard),
      sender_(where, id),
      front_(*this, shard, index, where.plan.set.turn_bytes),
      index_(index) {}

answer front_process::admit(const policies::admit_worker_call& call) {
  const auto admission = front_.admit(call);
  note("admit rank " + std::to_string(call.rank) + " job " + std::to_string(call.token) +
       " -> " + std::string(to_string(admission.code)));
  if (admission.code != refusal::none)
    return {{runtime::errc::refused, std::string(to_string(admission.code))}, {}};
  if (admission.connect) {
    homes_[{call.token, call.rank, call.incarnation}] = id_of(call.address);
    front_.connected(call, id_of(call.address));
  }
  mend_soon();
  return {{}, admission.first_clock};
}

answer front_process::hold(const policies::hold_call& call) {
  const auto come_to = front_.hold(call);
  note("holds clock " + std::to_string(call.clock) + " for rank " + std::to_string(call.rank) +
       (come_to == 0 ? "" : ", but is at " + std::to_string(come_to)));
  return {{}, come_to};
}

answer front_process::change_roster(const policies::roster_call& call) {
  note("rank " + std::to_string(call.what.rank) + (call.what.joins ? " joins" : " has left") +
       " at clock " + std::to_string(call.what.clock));
  front_.change_roster(call);
  return {};
}

answer front_process::checkpoint(const policies::checkpoint_call&) {
  TIDEGATE_ASSERT(false, "an aggregator has nothing to keep");
  return {};
}

void front_process::snapshot(const effects::snapshot&, const policies::shard_core::cut_state&) {
  TIDEGATE_ASSERT(false, "an aggregator has nothing to keep");
}

void front_process::join() {
  joining_ = true;
  coordinator_ = world_.coordinator;
  ask_to_join(coordinator_, [this](const answer& got) {
    if (got.result.code() == runtime::errc::unavailable)
      return later(join_again_after, [this] { join(); });
    joining_ = false;
    if (!got.result.ok()) expel("could not join: " + got.result.to_string());
  });
}

void front_process::expel(const std::string& why) {
  note(why);
  launcher::of(world_).exits(id(), false);
}

void front_process::lead(const policies::lead_call&, const answer_to&) {
  TIDEGATE_ASSERT(false, "an aggregator has no replica");
}

void front_process::follow(const policies::follow_call&) {
  TIDEGATE_ASSERT(false, "an aggregator is no replica");
}

void front_process::promote(const policies::promote_call&) {
  TIDEGATE_ASSERT(false, "an aggregator is no replica");
}

void front_process::upstream_moved(const policies::shard_moved&) {
  TIDEGATE_ASSERT(false, "a shard has no upstream");
}

void front_process::replicate(const effects::replicate&) {
  TIDEGATE_ASSERT(false, "an aggregator has no replica");
}

void front_process::seed(const effects::seed&) {
  TIDEGATE_ASSERT(false, "an aggregator has no replica");
}

void front_process::replicate_farewell(const effects::replicate_farewell&) {
  TIDEGATE_ASSERT(false, "an aggregator has no replica");
}

void front_process::followed(const effects::followed&) {
  TIDEGATE_ASSERT(false, "an aggregator is no replica");
}

void front_process::peer_lost(process_id peer) {
  if (peer == coordinator_ && !joining_) return join();
  // A network tells only that a connection broke; a ring tells that a process has ended.
  const auto* const home = world_.find_dead(peer);
  if (home == nullptr || !shares_memory_with(*home)) return connection_broke(peer);
  if (is_upstream(peer)) return upstream_lost();
  front_.peer_lost(peer);
}

void front_process::connection_broke(process_id peer) {
  front_.connection_broke(peer, local_now());
  mend_soon();
}

void front_process::mend_soon() {
  if (mending_ || !is_mending()) return;
  mending_ = true;
  later(world_.plan.set.mend, [this] {
    mending_ = false;
    mend();
    mend_soon();
  });
}

std::optional<front_process::peer_id> front_process::reconnect(
    const policies::member_key& member) {
  const auto home = homes_.find(member);
  if (home == homes_.end()) return {};
  world_.net.reconnect(id(), home->second);
  return home->second;
}

front_process::push_name front_process::name_of(const runtime::frame_header& header) {
  return {{header.job, header.worker, header.incarnation},
          header.table,
          header.chunk,
          header.clock};
}

memory_view front_process::place(process_id, const runtime::frame_header& header) {
  if (header.kind == frame_kind::pull_reply) return place_upstream(header);
  if (policies::replication_core::is_mine(header)) return place_replication(header);
  if (!front_.place(header)) return {};
  if (world_.plan.no_memory > 0 && world_.chance.chance(world_.plan.no_memory)) {
    front_.no_place(header);
    return {};
  }
  auto lease = memory_.lease(header.payload_bytes);
  if (!lease) {
    world_.check.fail("bounded", name() + " has no room for a push within the credits");
    front_.no_place(header);
    return {};
  }
  arriving_[name_of(header)] = lease;
  world_.check.accepted(id(), header.job, header.epoch);
  return lease;
}

// What a push adds up to, as its sender knows it.
updates front_process::updates_of(process_id from, const runtime::frame_header& header,
                                  std::uint32_t table, std::uint32_t chunk) const {
  if (const auto* sum = world_.check.sum_of({from, header.worker, table, chunk, header.clock}))
    return *sum;
  return {{header.worker, header.clock,
           life_of(policies::run_of(header.epoch), header.incarnation)}};
}

void front_process::on_frame(process_id from, const runtime::frame_header& header,
                             memory_view arrived) {
  if (policies::replication_core::is_mine(header)) {
    on_replication(from, header, std::move(arrived));
    check_credits();
    mend_soon();
    return;
  }
  current_ = header;
  current_from_ = from;
  if (upstream_frame(from, header)) {
    mend_soon();
    return check_credits();
  }
  auto handle = policies::no_payload;
  if (header.kind == frame_kind::push) {
    arriving_.erase(name_of(header));
    handle = memory_.keep(
        {std::move(arrived), updates_of(from, header, header.table, header.chunk)}, true);
  }
  // The place of a member's gradients is the member itself: it says so in the sender's number.
  std::byte place[sizeof(process_id)];
  std::memcpy(place, &from, sizeof from);
  front_.frame(header, handle, place, 0);
  check_credits();
  spoil_planes(header.table);
  mend_soon();
}

void front_process::on_frame_lost(process_id, const runtime::frame_header& header) {
  if (policies::replication_core::is_mine(header)) return replication_lost(header);
  if (header.kind != frame_kind::push) return;
  const auto at = arriving_.find(name_of(header));
  if (at != arriving_.end()) {
    memory_.give_back(at->second);
    arriving_.erase(at);
  }
  front_.frame_lost(header);
}

void front_process::on_sent(std::uint64_t token) {
  front_.sent(sender_.on_sent(token));
}

void front_process::send(peer_id to, const runtime::frame_header& header) {
  check_answer(header, header.plane);
  sender_.send(to, header);
}

// Where parameters are is where their process is, which the frame tells.
void front_process::send_place(peer_id to, const runtime::frame_header& header) {
  sender_.send(to, header);
}

void front_process::send_parameters(peer_id to, const runtime::frame_header& header,
                                    std::uint32_t slot, std::uint32_t plane,
                                    policies::send_name name) {
  check_answer(header, plane);
  sender_.send(to, header, memory_.parameters(slot, plane),
               policies::use_order(header.clock, header.table), name);
}

refusal front_process::map_gradients(const policies::member_key& who, std::uint32_t table,
                                     std::span<const std::byte> place) {
  process_id from = 0;
  std::memcpy(&from, place.data(), sizeof from);
  const auto* owner = world_.find_as<worker>(from);
  if (!owner || (world_.plan.no_window > 0 && world_.chance.chance(world_.plan.no_window)))
    return refusal::no_window;
  members_[who][table] = {owner->gradients_of(table)};
  return refusal::none;
}

policies::payload_handle front_process::keep_in_place(const policies::member_key& who,
                                                      std::uint32_t table, std::uint32_t half,
                                                      std::uint32_t slot) {
  world_.check.accepted(id(), current_.job, current_.epoch);
  const auto& gradient = members_.at(who).at(table).halves.at(half);
  memory_view part{gradient, memory_.first_of(slot), memory_.bytes_of(slot) / 4};
  return memory_.keep(
      {std::move(part), updates_of(current_from_, current_, table, memory_.chunk_of(slot))},
      false);
}

void front_process::release(policies::payload_handle payload) {
  memory_.release(payload);
}

void front_process::forget(const policies::member_key& who) {
  members_.erase(who);  // what is kept of it stays mapped
}

void front_process::go_on_soon() {
  later(world_.plan.set.go_on, [this] {
    front_.go_on();
    check_credits();
  });
}

void front_process::post_acks_soon() {
  later(0, [this] { front_.post_acks(); });
}

void front_process::note_refusal(const policies::frame_tag& tag, refusal code) {
  note("refuses a frame of rank " + std::to_string(tag.rank) + " clock " +
       std::to_string(tag.clock) + ": " + std::string(to_string(code)));
}

}  // namespace tidegate::sim
