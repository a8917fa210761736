#include "actors/aggregator/aggregator_shell.hpp"

#include <algorithm>
#include <utility>

#include "policies/protocol/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using policies::tag_of;
using runtime::errc;
using runtime::frame_kind;
using runtime::status;
using kind = policies::upstream_frame::type;

status aggregator_shell::open_job(const policies::open_job_call& call) {
  if (core_.is_open()) return {};  // an earlier call's
  if (call.nodes.empty() || call.members.empty() || call.upstream.empty())
    return {errc::invalid_argument, "an aggregator hands sums on"};
  upstream_.clear();  // of a call before that failed
  for (const auto& address : call.upstream) {
    const auto connected = home_.connect(address);
    if (!connected) return connected.error();
    upstream_.push_back(*connected);
  }
  upstream_addresses_ = call.upstream;
  token_ = call.token;
  const auto keeps = policies::versions_kept(call.consistency, call.workers_come_back, false);
  sizes_ = {.workers = call.workers,
            .members = static_cast<std::uint32_t>(call.members.size()),
            .copies = 1 + keeps};
  core_.set_retransmit_limits(home_.limits().retransmit);
  core_.set_reconnect_limits(home_.limits().reconnects);
  core_.open_job({.token = call.token,
                  .epoch = call.epoch,
                  .workers = call.workers,
                  .consistency = call.consistency,
                  .members = call.members,
                  .nodes = call.nodes,
                  .upstream_epochs = call.upstream_epochs,
                  .workers_come_back = call.workers_come_back,
                  .incarnation = call.incarnation,
                  .upstream_moves = call.upstream_moves});
  frames_.clear();
  for (std::uint32_t shard = 0; shard < upstream_.size(); ++shard)
    core_.connected(shard, home_.now(), frames_);
  post(0, {});
  look_soon();
  home_.log(severity::info, "job " + call.name + ": " + policies::to_string(call.consistency) +
                                ", sums " + std::to_string(call.members.size()) +
                                " members to " + std::to_string(call.nodes.size()) +
                                (call.nodes.size() == 1 ? " sum" : " sums"));
  return {};
}

status aggregator_shell::open_table(const policies::open_table_call& call) {
  if (!core_.is_open() || call.token != token_)
    return {errc::not_found, "this aggregator does not know the job of the table"};
  if (!core_.ingress().registry().slots_of(call.table).empty()) return {};
  if (!call.first_clocks.empty() && call.first_clocks.size() != call.places.size())
    return {errc::invalid_argument, "a first clock for each chunk, or none"};
  for (const auto& place : call.places)
    if (place.shard >= upstream_.size())
      return {errc::invalid_argument, "a chunk lives on no upstream"};
  const auto chunks = core_.open_table(call.table, call.places);
  auto sizes = sizes_;
  sizes.has_gaps =
      call.optimizer.lazy && !runtime::is_planted(runtime::planted_bug::aggregator_sums_gaps);
  sizes.reduce = runtime::is_planted(runtime::planted_bug::aggregator_adds_what_is_reduced)
                     ? runtime::reduction::sum
                     : call.optimizer.reduce;
  sizes.reduce_rule = call.optimizer.reduce_rule;
  if (auto added = memory_.add_table(call.table, chunks, sizes, core_.nodes().size());
      !added.ok()) {
    core_.forget_table(call.table);
    return added;
  }
  core_.begin_at(chunks, call.first_clocks);
  ingress_.table_opened(call.token, call.table);
  return {};
}

policies::reply_code aggregator_shell::apply(const effects::apply&, inputs) {
  TIDEGATE_ASSERT(false, "an aggregator hands on what is pushed");
  return policies::reply_code::ok;
}

double aggregator_shell::measure(const effects::measure&, inputs) {
  TIDEGATE_ASSERT(false, "whoever makes steps measures, and an aggregator hands on");
  return 0;
}

void aggregator_shell::snapshot(const effects::snapshot&,
                                const policies::shard_core::cut_state&) {
  TIDEGATE_ASSERT(false, "an aggregator has nothing to keep");
}

void aggregator_shell::has_no_replica() {
  TIDEGATE_ASSERT(false, "an aggregator has no replica");
}

// Nothing else may tell that a member has finished.
runtime::expected<std::uint64_t> aggregator_shell::admit(
    const policies::admit_worker_call& call) {
  auto admitted = ingress_.admit(call);
  say_farewell();
  look_soon();
  return admitted;
}

void aggregator_shell::change_membership(const policies::membership_call& call) {
  ingress_.core().change_membership(call);
  say_farewell();
}

void aggregator_shell::close_job(std::uint64_t token) {
  ingress_.core().about_job(token,
                            [&](auto& out) { core_.ingress().admin().close_job(token, out); });
}

void aggregator_shell::on_peer_lost(const peer_lost_event& event) {
  const auto at = std::find(upstream_.begin(), upstream_.end(), event.peer);
  if (at == upstream_.end()) {
    ingress_.on_peer_lost(event);
  } else if (!event.ended) {
    home_.log(severity::info,
              "lost the connection upstream: " + event.why + "; it is made again");
    core_.connection_broke(static_cast<std::uint32_t>(at - upstream_.begin()), home_.now());
  } else if (core_.upstream_moves()) {
    home_.log(severity::info, "lost the link upstream: " + event.why +
                                  "; another takes its place, or all go back");
  } else {
    home_.log(severity::error, "lost the link upstream: " + event.why);
    close_job(token_);  // its members hear of it, and tell
  }
  look_soon();
}

// Sums that wait to be sent are sent again when upstream answers.
bool aggregator_shell::reconnect(std::uint32_t shard) {
  const auto connected = home_.connect(upstream_addresses_[shard]);
  if (!connected) return false;
  drop_waiting(shard);
  home_.link().disconnect(std::exchange(upstream_[shard], *connected));
  return true;
}

void aggregator_shell::drop_waiting(std::uint32_t shard) {
  std::vector<policies::send_name> dropped;
  ingress_.sender().drop(upstream_[shard], dropped);
}

// Parameters go to where members read them.
runtime::buffer aggregator_shell::place(const runtime::frame_header& header) {
  if (header.kind != frame_kind::pull_reply) return ingress_.place(header);
  const auto slot = core_.expects_reply(tag_of(header));
  if (!slot || header.payload_bytes != memory_.ingress().bytes_of(*slot)) return {};
  return runtime::buffer::view(memory_.room(*slot, core_.begin_reply(*slot)));
}

void aggregator_shell::on_frame_lost(const runtime::frame_header& header) {
  if (header.kind == frame_kind::pull_reply) return reply_lost(header);
  ingress_.on_frame_lost(header);
}

void aggregator_shell::reply_lost(const runtime::frame_header& header) {
  frames_.clear();
  core_.cancel_reply(tag_of(header), frames_);
  post(0, {});
}

void aggregator_shell::upstream_moved(const policies::shard_moved& moved) {
  if (!core_.is_news(moved.shard, moved.epoch)) return;
  const auto name = "upstream " + std::to_string(moved.shard);
  auto& address = upstream_addresses_.at(moved.shard);
  if (const auto fenced = home_.fence(address); !fenced.ok()) {
    home_.log(severity::error, name + " has moved: " + fenced.to_string());
    return close_job(token_);
  }
  const auto connected = home_.connect(moved.address);
  home_.log(severity::info,
            name + " has moved" +
                (connected ? "" : " and cannot be reached: " + connected.error().message()));
  address = moved.address;
  // Nothing else tells what became of frames that were on their way to the dead process.
  if (connected)
    home_.link().disconnect(std::exchange(upstream_[moved.shard], *connected));
  else
    home_.link().disconnect(upstream_[moved.shard]);
  frames_.clear();
  core_.upstream_moved(moved.shard, moved.epoch, frames_);
  if (connected) core_.connected(moved.shard, home_.now(), frames_);
  post(0, {});
  // It may have died, too, before this was heard, or not be reachable yet.
  if (!connected) core_.connection_broke(moved.shard, home_.now());
  look_soon();
}

void aggregator_shell::on_frame(frame_event& event) {
  const auto& header = event.header;
  if (header.kind == frame_kind::pull_reply && core_.is_stale(header)) {
    reply_lost(header);
  } else if (policies::aggregator_core::is_resend(header)) {
    frames_.clear();
    if (core_.on_resend(header, frames_)) drop_waiting(header.shard);
    post(0, {});
  } else if (policies::norm_exchange::is_of_norm(header)) {
    frames_.clear();
    core_.on_norm(header, frames_);
    post(0, {});
  } else if (policies::aggregator_core::is_answer(header)) {
    core_.on_answer(header, ingress_.core().pending(header.job, header.table));
    ingress_.core().carry_out();
    say_farewell();
  } else {
    ingress_.on_frame(event);
    if (header.kind == frame_kind::finished) say_farewell();
  }
  look_soon();
}

void aggregator_shell::look() {
  looks_.came();
  const auto now = home_.now();
  ingress_.core().mend(home_.now());
  frames_.clear();
  core_.mend(
      now, [this](std::uint32_t shard) { return reconnect(shard); }, frames_);
  // Frames that wait to be sent cannot be lost yet.
  if (home_.link().loses_frames() && ingress_.sender().waiting() == 0) core_.tick(now, frames_);
  post(0, {});
  ingress_.add_outages(outages_);
  outages_.add(core_, [this](std::uint32_t shard) { return upstream_addresses_[shard]; });
  outages_.report();
  look_soon();
}

void aggregator_shell::say_farewell() {
  frames_.clear();
  core_.say_farewell(frames_);
  post(0, {});
}

void aggregator_shell::hand_on(const effects::hand_on& step, inputs from) {
  frames_.clear();
  core_.hand_on(step, from, frames_);
  post(step.slot, from);
}

void aggregator_shell::ask(const effects::ask& step) {
  frames_.clear();
  core_.ask(step, frames_);
  post(step.slot, {});
}

void aggregator_shell::post(std::uint32_t slot, inputs from) {
  for (const auto& frame : frames_) {
    auto header = policies::header_of(frame);
    if (frame.kind != kind::push) {
      ingress_.sender().send(upstream_[frame.shard], header);
      continue;
    }
    const auto payload = frame.retransmit
                             ? memory_.retransmit_sum(frame)
                             : memory_.sum(slot, frame, from.subspan(frame.first, frame.count));
    header.payload_bytes = payload.size();
    // Nobody asks when it is sent: upstream answers a push after that, and the sum stays until
    // then.
    ingress_.sender().send(upstream_[frame.shard], header, payload,
                           policies::use_order(frame.tag.clock, frame.tag.table));
  }
  look_soon();
}

}  // namespace tidegate::actors
