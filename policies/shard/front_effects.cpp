// What the shard core has decided, carried out in order.
#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include "policies/protocol/frame_tags.hpp"
#include "policies/shard/front_core.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::frame_kind;

namespace {

auto push_of(const shard_effects::ring_acknowledge& ack) {
  return std::tie(ack.tag.job, ack.tag.rank, ack.tag.incarnation, ack.tag.epoch, ack.tag.clock);
}

bool comes_before(const shard_effects::ring_acknowledge& acknowledge,
                  const shard_effects::ring_acknowledge& other) {
  if (push_of(acknowledge) != push_of(other)) return push_of(acknowledge) < push_of(other);
  return std::tie(acknowledge.tag.table, acknowledge.tag.chunk, acknowledge.count,
                  acknowledge.code) <
         std::tie(other.tag.table, other.tag.chunk, other.count, other.code);
}

}  // namespace

void front_core::drain(std::uint64_t job) {
  queue_.drain(job, [&](const auto& effect, inputs all) {
    std::visit([&](const auto& item) { perform(item, all); }, effect);
  });
}

void front_core::carry_out() {
  const auto perform_one = [&](const auto& effect, inputs all) {
    std::visit([&](const auto& item) { perform(item, all); }, effect);
  };
  if (going_on_) return;  // soon
  budget_ = turn_bytes_;
  while (budget_ > 0 && !TIDEGATE_BUGGIFY("front: work is put off with budget left"))
    if (!queue_.step(perform_one)) return;
  queue_.take_turns();
  if (!queue_.empty()) go_on_soon();
}

void front_core::go_on_soon() {
  if (!std::exchange(going_on_, true)) shell_.go_on_soon();
}

template <class Effect>
front_core::inputs front_core::inputs_of(const Effect& effect, inputs all) {
  budget_ -= std::min(budget_, effect.count * shell_.bytes_of(effect.slot));
  return all.subspan(effect.first, effect.count);
}

void front_core::perform(const effects::apply& apply, inputs all) {
  shell_.apply(apply, inputs_of(apply, all));
}

void front_core::perform(const effects::hand_on& handover, inputs all) {
  shell_.hand_on(handover, inputs_of(handover, all));
}

void front_core::perform(const effects::acknowledge& acknowledge, inputs) {
  if (acknowledge.code != refusal::none) refused(acknowledge.tag, acknowledge.code);
  auto header = header_of(frame_kind::push_ack, acknowledge.tag, acknowledge.code);
  if (acknowledge.tag.chunk == runtime::whole_job)
    if (const auto* worker = find(acknowledge.tag.job, acknowledge.tag.rank))
      header.version = worker->payload_bytes_copied;
  send(acknowledge.tag, header);
}

void front_core::perform(const effects::ring_acknowledge& acknowledge, inputs) {
  if (acknowledge.code != refusal::none) refused(acknowledge.tag, acknowledge.code);
  const auto* worker = find(acknowledge.tag.job, acknowledge.tag.rank);
  if (acknowledge.code != refusal::none || !worker || worker->attached.size() < 2)
    return send_ack(acknowledge);
  acks_.push_back(acknowledge);
  if (acks_.size() == 1) shell_.post_acks_soon();
}

// Whether whole tables are acknowledged, all of these. A whole table is told once: the answers
// to copies of a ring are the same. Both are in the order of tables.
bool front_core::acks_all(acks of_push, const std::set<std::uint32_t>& tables) const {
  auto at = of_push.begin();
  for (const auto table : tables) {
    const auto is_whole = [&](const effects::ring_acknowledge& ack) {
      return ack.tag.table == table && ack.tag.chunk == 0 &&
             ack.count == core_.registry().slots_of(table).size();
    };
    while (at != of_push.end() && at->tag.table <= table && !is_whole(*at)) ++at;
    if (at == of_push.end() || at->tag.table != table) return false;
  }
  return true;
}

// The order costs less than looking for every table among the answers: there may be thousands.
void front_core::post_acks() {
  std::sort(acks_.begin(), acks_.end(), &comes_before);
  for (auto first = acks_.begin(); first != acks_.end();) {
    const auto last = std::find_if(first, acks_.end(), [&](const auto& other) {
      return push_of(other) != push_of(*first);
    });
    send_acks({first, last});
    first = last;
  }
  acks_.clear();
}

void front_core::send_acks(acks of_push) {
  auto first = of_push.front();
  const auto* worker = find(first.tag.job, first.tag.rank);
  if (!worker || !acks_all(of_push, worker->attached)) {
    for (const auto& ack : of_push) send_ack(ack);
    return;
  }
  TIDEGATE_RARE("front: all tables are acknowledged at once");
  first.tag.table = runtime::whole_job;
  first.tag.chunk = whole_table;
  first.count = 0;
  send_ack(first);
}

void front_core::send_ack(const effects::ring_acknowledge& acknowledge) {
  auto header = header_of(frame_kind::ring_ack, acknowledge.tag, acknowledge.code);
  header.count = acknowledge.count;
  send(acknowledge.tag, header);
}

void front_core::perform(const effects::ring_reply& reply, inputs) {
  if (reply.code != refusal::none) refused(reply.tag, reply.code);
  auto header = header_of(frame_kind::ring_reply, reply.tag, reply.code);
  header.count = reply.count;
  header.version = reply.where.version;
  header.min_clock = reply.where.min_clock;
  header.plane = static_cast<std::uint16_t>(reply.where.plane);
  if (reply.applied) header.flags = runtime::frame_flag_applied;
  send(reply.tag, header);
}

void front_core::perform(const effects::reply& reply, inputs) {
  auto header = header_of(frame_kind::pull_reply, reply.tag, reply.code);
  if (reply.code != refusal::none) {
    refused(reply.tag, reply.code);
    send(reply.tag, header);
    return;
  }
  header.version = reply.where.version;
  header.min_clock = reply.where.min_clock;
  if (reply.applied) header.flags = runtime::frame_flag_applied;
  header.payload_bytes = shell_.bytes_of(reply.slot);
  header.shard = static_cast<std::uint16_t>(index_);
  const auto* worker = reachable(reply.tag);
  if (!worker) return reply_sent(reply.slot, reply.tag.rank, reply.where.plane);
  shell_.send_parameters(worker->peer, header, reply.slot, reply.where.plane, take_name(reply));
}

// A stranger has no address; who is gone asks again when it is back, and not its successor.
const front_core::member* front_core::reachable(const frame_tag& tag) {
  const auto* worker = find(tag.job, tag.rank);
  return worker && !worker->lost && worker->incarnation == tag.incarnation ? worker : nullptr;
}

void front_core::send(const frame_tag& tag, runtime::frame_header header) {
  const auto* worker = reachable(tag);
  if (!worker) return;
  header.shard = static_cast<std::uint16_t>(index_);
  shell_.send(worker->peer, header);
}

send_name front_core::take_name(const effects::reply& reply) {
  if (sending_free_.empty()) {
    sending_.emplace_back();
    sending_free_.reserve(sending_.size());
    sending_free_.push_back(sending_.size());
  }
  const auto name = sending_free_.back();
  sending_free_.pop_back();
  sending_[name - 1] = {reply.tag.job, reply.slot, reply.tag.rank, reply.where.plane, true};
  return name;
}

// What waits for it is decided in a turn of its own: this may be within carry_out().
void front_core::reply_sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t plane) {
  if (!core_.sent(slot, rank, plane)) return;
  answers_due_.push_back({.slot = slot, .rank = rank});
  go_on_soon();
}

void front_core::go_on() {
  going_on_ = false;
  for (const auto& due : answers_due_) {
    const auto name = core_.registry().name_of(due.slot);
    core_.answer_waiting(due.slot, due.rank, pending(name.job, name.table));
  }
  answers_due_.clear();
  carry_out();
}

// A reply has left its plane, or never will.
void front_core::sent(send_name name) {
  if (name == 0) return;  // a frame of the owner's
  TIDEGATE_ASSERT(name <= sending_.size(), "a name of take_name");
  auto& reply = sending_[name - 1];
  if (std::exchange(reply.counts, false)) reply_sent(reply.slot, reply.rank, reply.plane);
  sending_free_.push_back(name);
}

}  // namespace tidegate::policies
