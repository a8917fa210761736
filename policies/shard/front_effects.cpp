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

bool comes_before(const shard_effects::ring_acknowledge& one,
                  const shard_effects::ring_acknowledge& other) {
  if (push_of(one) != push_of(other)) return push_of(one) < push_of(other);
  return std::tie(one.tag.table, one.tag.chunk, one.count, one.code) <
         std::tie(other.tag.table, other.tag.chunk, other.count, other.code);
}

}  // namespace

void front_core::drain(std::uint64_t job) {
  queue_.drain(job, [&](const auto& effect, inputs all) {
    std::visit([&](const auto& what) { perform(what, all); }, effect);
  });
}

void front_core::carry_out() {
  const auto perform_one = [&](const auto& effect, inputs all) {
    std::visit([&](const auto& what) { perform(what, all); }, effect);
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
front_core::inputs front_core::inputs_of(const Effect& what, inputs all) {
  budget_ -= std::min(budget_, what.count * shell_.bytes_of(what.slot));
  return all.subspan(what.first, what.count);
}

void front_core::perform(const effects::apply& what, inputs all) {
  shell_.apply(what, inputs_of(what, all));
}

void front_core::perform(const effects::hand_on& what, inputs all) {
  shell_.hand_on(what, inputs_of(what, all));
}

void front_core::perform(const effects::acknowledge& what, inputs) {
  if (what.code != refusal::none) refused(what.tag, what.code);
  auto header = header_of(frame_kind::push_ack, what.tag, what.code);
  if (what.tag.chunk == runtime::whole_job)
    if (const auto* who = find(what.tag.job, what.tag.rank))
      header.version = who->payload_bytes_copied;
  send(what.tag, header);
}

void front_core::perform(const effects::ring_acknowledge& what, inputs) {
  if (what.code != refusal::none) refused(what.tag, what.code);
  const auto* who = find(what.tag.job, what.tag.rank);
  if (what.code != refusal::none || !who || who->attached.size() < 2) return send_ack(what);
  acks_.push_back(what);
  if (acks_.size() == 1) shell_.post_acks_soon();
}

// Whether whole tables are acknowledged, all of these. A whole table is told once: the answers
// to copies of a ring are the same. Both are in the order of tables.
bool front_core::acks_all(acks of_push, const std::set<std::uint32_t>& tables) const {
  auto at = of_push.begin();
  for (const auto table : tables) {
    const auto is_whole = [&](const effects::ring_acknowledge& ack) {
      return ack.tag.table == table && ack.tag.chunk == 0 &&
             ack.count == core_.slots_of(table).size();
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
  const auto* who = find(first.tag.job, first.tag.rank);
  if (!who || !acks_all(of_push, who->attached)) {
    for (const auto& ack : of_push) send_ack(ack);
    return;
  }
  TIDEGATE_RARE("front: all tables are acknowledged at once");
  first.tag.table = runtime::whole_job;
  first.tag.chunk = whole_table;
  first.count = 0;
  send_ack(first);
}

void front_core::send_ack(const effects::ring_acknowledge& what) {
  auto header = header_of(frame_kind::ring_ack, what.tag, what.code);
  header.count = what.count;
  send(what.tag, header);
}

void front_core::perform(const effects::ring_reply& what, inputs) {
  if (what.code != refusal::none) refused(what.tag, what.code);
  auto header = header_of(frame_kind::ring_reply, what.tag, what.code);
  header.count = what.count;
  header.version = what.where.version;
  header.min_clock = what.where.min_clock;
  header.plane = static_cast<std::uint16_t>(what.where.plane);
  if (what.applied) header.flags = runtime::frame_flag_applied;
  send(what.tag, header);
}

void front_core::perform(const effects::reply& what, inputs) {
  auto header = header_of(frame_kind::pull_reply, what.tag, what.code);
  if (what.code != refusal::none) {
    refused(what.tag, what.code);
    send(what.tag, header);
    return;
  }
  header.version = what.where.version;
  header.min_clock = what.where.min_clock;
  if (what.applied) header.flags = runtime::frame_flag_applied;
  header.payload_bytes = shell_.bytes_of(what.slot);
  header.shard = static_cast<std::uint16_t>(index_);
  const auto* who = reachable(what.tag);
  if (!who) return reply_sent(what.slot, what.tag.rank, what.where.plane);
  shell_.send_parameters(who->peer, header, what.slot, what.where.plane, take_name(what));
}

// A stranger has no address; who is gone asks again when it is back, and not its successor.
const front_core::member* front_core::reachable(const frame_tag& tag) {
  const auto* who = find(tag.job, tag.rank);
  return who && !who->lost && who->incarnation == tag.incarnation ? who : nullptr;
}

void front_core::send(const frame_tag& tag, runtime::frame_header header) {
  const auto* who = reachable(tag);
  if (!who) return;
  header.shard = static_cast<std::uint16_t>(index_);
  shell_.send(who->peer, header);
}

send_name front_core::take_name(const effects::reply& what) {
  if (sending_free_.empty()) {
    sending_.emplace_back();
    sending_free_.reserve(sending_.size());
    sending_free_.push_back(sending_.size());
  }
  const auto name = sending_free_.back();
  sending_free_.pop_back();
  sending_[name - 1] = {what.tag.job, what.slot, what.tag.rank, what.where.plane, true};
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
    const auto name = core_.name_of(due.slot);
    core_.answer_waiting(due.slot, due.rank, pending(name.job, name.table));
  }
  answers_due_.clear();
  carry_out();
}

// A reply has left its plane, or never will.
void front_core::sent(send_name name) {
  if (name == 0) return;  // a frame of the owner's
  TIDEGATE_ASSERT(name <= sending_.size(), "a name of take_name");
  auto& one = sending_[name - 1];
  if (std::exchange(one.counts, false)) reply_sent(one.slot, one.rank, one.plane);
  sending_free_.push_back(name);
}

}  // namespace tidegate::policies
