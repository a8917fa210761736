#include "tests/sim/aggregator.hpp"

#include <algorithm>
#include <utility>

#include "policies/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "tests/sim/coordinator.hpp"

namespace tidegate::sim {

using policies::tag_of;
using runtime::frame_kind;
using kind = policies::upstream_frame::what;

void aggregator_process::ask_to_join(process_id coordinator, answer_to back) {
  process::ask<coordinator_process>(
      coordinator,
      [job = job_, index = number_, incarnation = incarnation_, me = id(), address = address()](
          coordinator_process& to, answer_to reply) {
        to.aggregator_joined(job, index, incarnation, address, me, std::move(reply));
      },
      std::move(back));
}

runtime::status aggregator_process::open_job(const policies::open_job_call& call) {
  if (core_.is_open()) return {};
  core_.set_patience(world_.plan.set.patience);
  for (const auto& address : call.upstream) upstream_.push_back(id_of(address));
  token_ = call.token;
  members_ = static_cast<std::uint32_t>(call.members.size());
  core_.open_job({call.token, call.epoch, call.workers, call.consistency, call.members,
                  call.nodes, call.upstream_epochs, call.workers_come_back, call.incarnation,
                  call.upstream_moves});
  return {};
}

runtime::status aggregator_process::open_table(const policies::open_table_call& call) {
  if (!core_.is_open() || call.token != token_)
    return {runtime::errc::not_found, "no such job"};
  if (!core_.front().slots_of(call.table).empty()) return {};
  const auto chunks = core_.open_table(call.table, call.places);
  memory_.add_table(call.table, chunks, members_);
  core_.begin_at(chunks, call.first_clocks);
  front_.table_opened(call.token);
  return {};
}

void aggregator_process::close_job(std::uint64_t token) {
  front_.about_job(token, [&](auto& out) { core_.front().close_job(token, out); });
}

void aggregator_process::connection_broke(process_id peer) {
  const auto at = std::find(upstream_.begin(), upstream_.end(), peer);
  if (at == upstream_.end()) return front_process::connection_broke(peer);
  note("lost the connection upstream");
  core_.connection_broke(static_cast<std::uint32_t>(at - upstream_.begin()), local_now());
  mend_soon();
}

void aggregator_process::mend() {
  front_process::mend();
  frames_.clear();
  const auto reconnect = [this](std::uint32_t shard) {
    std::vector<policies::send_name> dropped;
    sender_.drop(upstream_[shard], dropped);
    for (const auto name : dropped) front_.sent(name);
    world_.net.reconnect(id(), upstream_[shard]);
    return true;
  };
  core_.mend(local_now(), reconnect, frames_);
  post(0, {});
}

bool aggregator_process::is_upstream(process_id who) const {
  return std::find(upstream_.begin(), upstream_.end(), who) != upstream_.end();
}

memory_view aggregator_process::place_upstream(const runtime::frame_header& header) {
  const auto slot = core_.expects_reply(tag_of(header));
  if (!slot || header.payload_bytes != memory_.bytes_of(*slot)) {
    if (const auto ack = policies::acknowledgement_in(header))
      later(0, [this, ack = *ack] { on_frame(0, ack, {}); });
    return {};
  }
  return memory_.room(*slot, core_.begin_reply(*slot), false);
}

void aggregator_process::on_frame_lost(process_id from, const runtime::frame_header& header) {
  if (header.kind == frame_kind::pull_reply) return reply_lost(header);
  front_process::on_frame_lost(from, header);
}

void aggregator_process::reply_lost(const runtime::frame_header& header) {
  frames_.clear();
  core_.cancel_reply(tag_of(header), frames_);
  post(0, {});
}

void aggregator_process::upstream_moved(const policies::shard_moved& what) {
  frames_.clear();
  if (!core_.upstream_moved(what.shard, what.epoch, frames_)) return;
  const auto before = std::exchange(upstream_.at(what.shard), id_of(what.address));
  note("upstream " + std::to_string(what.shard) + " has moved to " + what.address);
  fence(before);
  world_.net.disconnect(id(), before);
  post(0, {});
}

bool aggregator_process::upstream_frame(process_id, const runtime::frame_header& header) {
  if (header.kind == frame_kind::pull_reply && core_.is_stale(header)) {
    reply_lost(header);
    return true;
  }
  if (policies::aggregator_core::is_resend(header)) {
    frames_.clear();
    core_.on_resend(header, frames_);
    post(0, {});
    return true;
  }
  if (policies::aggregator_core::is_answer(header)) {
    core_.on_answer(header, front_.pending(header.job, header.table));
    front_.carry_out();
    say_farewell();
    return true;
  }
  if (header.kind != frame_kind::finished) return false;
  front_.frame(header, policies::no_payload, {}, 0);
  say_farewell();
  return true;
}

answer aggregator_process::admit(const policies::admit_worker_call& call) {
  auto admitted = front_process::admit(call);
  say_farewell();
  return admitted;
}

answer aggregator_process::change_roster(const policies::roster_call& call) {
  auto done = front_process::change_roster(call);
  say_farewell();
  return done;
}

void aggregator_process::say_farewell() {
  frames_.clear();
  core_.say_farewell(frames_);
  post(0, {});
}

void aggregator_process::apply(const effects::apply&, inputs) {
  TIDEGATE_ASSERT(false, "an aggregator hands on what is pushed");
}

void aggregator_process::hand_on(const effects::hand_on& what, inputs from) {
  frames_.clear();
  core_.hand_on(what, from, frames_);
  post(what.slot, from);
}

void aggregator_process::ask(const effects::ask& what) {
  frames_.clear();
  core_.ask(what, frames_);
  post(what.slot, {});
}

memory_view aggregator_process::sum(std::uint32_t slot, const policies::upstream_frame& frame,
                                    inputs from) {
  updates of;
  std::vector<runtime::kernels::gradient> gradients;
  for (const auto& one : from) {
    const auto* payload = memory_.find(one.payload);
    if (!payload) {
      world_.check.fail("given back", name() + " sums a payload that was given back");
      return {};
    }
    of.insert(of.end(), payload->of.begin(), payload->of.end());
    gradients.push_back({payload->values.values().data(), one.rank});
  }
  world_.check.summed({id(), frame.tag.rank, frame.tag.table, frame.tag.chunk, frame.tag.clock},
                      std::move(of));
  if (from.size() == 1) return memory_.find(from[0].payload)->values;
  constexpr auto window = runtime::limits::clocks_in_flight_max;
  auto& out = sums_[{slot, frame.node, frame.tag.clock % window}];
  if (!out) out = std::make_shared<std::vector<float>>(memory_.bytes_of(slot) / 4);
  runtime::kernels::tree_sum(gradients, out->data(), out->size());
  return {out, 0, out->size()};
}

void aggregator_process::tick() {
  if (ticking_ || !world_.loses_frames() || !core_.is_busy()) return;
  ticking_ = true;
  later(world_.plan.set.look, [this] {
    ticking_ = false;
    frames_.clear();
    if (sender_.waiting() == 0) core_.tick(local_now(), frames_);
    post(0, {});
    tick();
  });
}

memory_view aggregator_process::sum_again(const policies::upstream_frame& frame) {
  if (frame.single != policies::no_payload) {
    const auto* payload = memory_.find(frame.single);
    if (payload) return payload->values;
    world_.check.fail("given back", name() + " sends a payload that was given back");
    return {};
  }
  constexpr auto window = runtime::limits::clocks_in_flight_max;
  const auto& out = sums_.at({frame.slot, frame.node, frame.tag.clock % window});
  return {out, 0, out->size()};
}

void aggregator_process::post(std::uint32_t slot, inputs from) {
  for (const auto& frame : frames_) {
    auto header = policies::header_of(frame);
    memory_view payload;
    if (frame.kind == kind::push)
      payload = frame.again ? sum_again(frame)
                            : sum(slot, frame, from.subspan(frame.first, frame.count));
    header.payload_bytes = payload.count * sizeof(float);
    const auto to = upstream_.at(frame.shard);
    if (payload)
      sender_.send(to, header, std::move(payload),
                   policies::use_order(frame.tag.clock, frame.tag.table));
    else
      sender_.send(to, header);
  }
  tick();
}

}  // namespace tidegate::sim
