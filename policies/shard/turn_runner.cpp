#include "policies/shard/turn_runner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "policies/protocol/frame_tags.hpp"
#include "policies/shard/ingress_state.hpp"
#include "runtime/base/buggify.hpp"

namespace tidegate::policies::sharding {

using runtime::frame_kind;

// Strangers name tables as they like: those share one queue.
shard_effects& turn_runner::pending(std::uint64_t job, std::uint32_t table) {
  return state_.core.registry().has_table(job, table) ? queue_.of(job, table) : pending(no_job);
}

shard_effects& turn_runner::pending(std::uint64_t job) {
  return queue_.of(job, runtime::whole_job);
}

template <class Effect>
void turn_runner::perform_any(const Effect& effect, inputs all) {
  std::visit([&](const auto& item) { perform(item, all); }, effect);
}

void turn_runner::drain(std::uint64_t job) {
  queue_.drain(job, [&](const auto& effect, inputs all) { perform_any(effect, all); });
}

void turn_runner::carry_out() {
  const auto perform_next = [&](const auto& effect, inputs all) { perform_any(effect, all); };
  if (going_on_) return;  // soon
  budget_ = turn_bytes_;
  while (budget_ > 0 && !TIDEGATE_BUGGIFY("front: work is put off with budget left"))
    if (!queue_.step(perform_next)) return;
  queue_.take_turns();
  if (!queue_.empty()) go_on_soon();
}

void turn_runner::go_on_soon() {
  if (!std::exchange(going_on_, true)) state_.shell.go_on_soon();
}

template <class Effect>
turn_runner::inputs turn_runner::inputs_of(const Effect& effect, inputs all) {
  budget_ -= std::min(budget_, effect.count * state_.shell.bytes_of(effect.slot));
  return all.subspan(effect.first, effect.count);
}

void turn_runner::perform(const effects::apply& apply, inputs all) {
  const auto code = state_.shell.apply(apply, inputs_of(apply, all));
  if (code != reply_code::ok) failed_.emplace(apply.slot, code);
}

void turn_runner::perform(const effects::measure& measure, inputs all) {
  if (squares_.size() <= measure.slot) squares_.resize(measure.slot + 1);
  const auto squares = state_.shell.measure(measure, inputs_of(measure, all));
  squares_[measure.slot] =
      std::isnan(squares) ? std::numeric_limits<double>::infinity() : squares;
  const auto name = state_.core.registry().name_of(measure.slot);
  frame_tag tag;
  tag.job = name.job;
  tag.epoch = state_.core.registry().epoch_of(name.job);
  tag.table = name.table;
  tag.chunk = name.chunk;
  tag.clock = measure.clock;
  auto header = header_of(frame_kind::norm_part, tag, reply_code::ok);
  header.squares = squares_[measure.slot];
  state_.links.send_all(header);
}

void turn_runner::perform(const effects::tell_norm_part& telling, inputs) {
  auto header = header_of(frame_kind::norm_part, telling.tag, reply_code::ok);
  if (!telling.is_empty) header.squares = squares_[telling.slot];
  if (telling.again) header.flags = runtime::frame_flag_again;
  state_.links.send(telling.tag, header);
}

void turn_runner::perform(const effects::tell_norm& telling, inputs) {
  auto header = header_of(frame_kind::norm, telling.tag, reply_code::ok);
  header.squares = telling.squares;
  state_.links.send(telling.tag, header);
}

void turn_runner::perform(const effects::hand_on& handover, inputs all) {
  state_.shell.hand_on(handover, inputs_of(handover, all));
}

void turn_runner::perform(const effects::ask& ask, inputs) {
  state_.shell.ask(ask);
}

// A part that lacks a step is in no checkpoint; its job is about to fail.
void turn_runner::perform(const effects::snapshot& snapshot, inputs) {
  if (failure_of(snapshot.slot) != reply_code::ok) return;
  state_.shell.snapshot(snapshot, state_.core.snapshots().cut_of(snapshot.slot));
}

void turn_runner::perform(const effects::replicate& replicate, inputs) {
  state_.shell.replicate(replicate);
}

void turn_runner::perform(const effects::seed& seed, inputs) {
  state_.shell.seed(seed);
}

void turn_runner::perform(const effects::replicate_farewell& farewell, inputs) {
  state_.shell.replicate_farewell(farewell);
}

void turn_runner::perform(const effects::followed& followed, inputs) {
  state_.shell.followed(followed);
}

void turn_runner::perform(const effects::release& release, inputs) {
  state_.shell.release(release.payload);
}

reply_code turn_runner::failure_of(std::uint32_t slot) const {
  const auto failed = failed_.find(slot);
  return failed == failed_.end() ? reply_code::ok : failed->second;
}

reply_code turn_runner::code_of(const effects::acknowledge& acknowledge) const {
  if (failed_.empty() || acknowledge.code != reply_code::ok) return acknowledge.code;
  const auto& tag = acknowledge.tag;
  const auto slot = state_.core.registry().find_slot(tag.job, tag.table, tag.chunk);
  return slot ? failure_of(*slot) : reply_code::ok;
}

void turn_runner::perform(const effects::acknowledge& acknowledge, inputs) {
  const auto& tag = acknowledge.tag;
  const auto code = code_of(acknowledge);
  if (code != reply_code::ok) state_.links.refused(tag, code);
  auto header = header_of(frame_kind::push_ack, tag, code);
  if (tag.chunk == runtime::whole_job)
    if (const auto* worker = state_.links.find(tag.job, tag.rank))
      header.version = worker->payload_bytes_copied;
  state_.links.send(tag, header);
}

void turn_runner::perform(const effects::doorbell_acknowledge& acknowledge, inputs) {
  if (acknowledge.code != reply_code::ok)
    state_.links.refused(acknowledge.tag, acknowledge.code);
  state_.acks.add(acknowledge);
}

void turn_runner::perform(const effects::doorbell_reply& reply, inputs) {
  if (reply.code != reply_code::ok) state_.links.refused(reply.tag, reply.code);
  auto header = header_of(frame_kind::doorbell_reply, reply.tag, reply.code);
  header.count = reply.count;
  header.version = reply.where.version;
  header.min_clock = reply.where.min_clock;
  header.version_buffer = static_cast<std::uint16_t>(reply.where.version_buffer);
  if (reply.applied) header.flags = runtime::frame_flag_applied;
  const bool on_device = reply.code == reply_code::ok &&
                         state_.links.reads_on_device(reply.tag, reply.where.version_buffer);
  if (on_device)
    header.flags = static_cast<std::uint16_t>(header.flags | runtime::frame_flag_device);
  else if (reply.code == reply_code::ok)
    state_.shell.show(
        state_.core.registry().slots_of(reply.tag.table).subspan(reply.tag.chunk, reply.count),
        reply.where.version_buffer);
  state_.links.send(reply.tag, header);
}

void turn_runner::refuse(const effects::reply& reply, reply_code code) {
  state_.links.refused(reply.tag, code);
  state_.links.send(reply.tag, header_of(frame_kind::pull_reply, reply.tag, code));
  state_.replies.not_sent(reply);
}

void turn_runner::perform(const effects::reply& reply, inputs) {
  auto header = header_of(frame_kind::pull_reply, reply.tag, reply.code);
  if (reply.code != reply_code::ok) {
    state_.links.refused(reply.tag, reply.code);
    state_.links.send(reply.tag, header);
    return;
  }
  // Whoever waits for a push with it hears of the push, too.
  if (const auto failure = failure_of(reply.slot); failure != reply_code::ok) {
    if (reply.applied) {
      auto push = reply.tag;
      --push.clock;
      perform(effects::acknowledge{push, failure}, {});
    }
    return refuse(reply, failure);
  }
  header.version = reply.where.version;
  header.min_clock = reply.where.min_clock;
  if (reply.applied) header.flags = runtime::frame_flag_applied;
  header.payload_bytes = state_.shell.bytes_of(reply.slot);
  header.shard = static_cast<std::uint16_t>(state_.index);
  const auto* worker = state_.links.reachable(reply.tag);
  if (!worker) return state_.replies.not_sent(reply);
  if (reply.call == no_payload)
    return state_.shell.send_parameters(worker->peer, header, reply.slot,
                                        reply.where.version_buffer,
                                        state_.replies.take_name(reply));
  budget_ -= std::min(budget_, state_.shell.bytes_of(reply.slot));  // which are looked at
  if (!state_.shell.may_answer(reply.slot, reply.call))
    return refuse(reply, reply_code::no_memory);
  header.kind = frame_kind::call_reply;
  header.payload_bytes = runtime::call_payload_bytes;
  state_.shell.send_results(worker->peer, header, reply.slot, reply.where.version_buffer,
                            reply.call, state_.replies.take_name(reply));
}

}  // namespace tidegate::policies::sharding
