#include "actors/aggregator.hpp"

#include <algorithm>
#include <span>

#include "actors/errors.hpp"
#include "actors/from_coordinator.hpp"
#include "actors/peer_address.hpp"
#include "policies/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

namespace log = runtime::log;

using policies::header_of;
using policies::tag_of;
using runtime::frame_kind;
using kind = policies::upstream_frame::what;

namespace {

caf::error no_group() {
  return to_error({runtime::errc::invalid_argument, "an aggregator has no replica"});
}

}  // namespace

aggregator::behavior_type aggregator::make_behavior() {
  sink_ = std::make_unique<frame_mailbox>(*this, *this, home());
  store_ = std::make_unique<aggregator_store>(home().link().memory());
  // Members know one shard.
  front_ = std::make_unique<front>(*this, home(), core_.front(), store_->memory(), 0);
  home().open_link(sink_.get());
  look_soon(false);
  return {
      from_coordinator(this, coordinator_, &aggregator::open_job),
      from_coordinator(this, coordinator_, &aggregator::open_table),
      from_coordinator(this, coordinator_, &aggregator::admit),
      from_coordinator(this, coordinator_, &aggregator::sum_progress),
      from_coordinator(this, coordinator_, &aggregator::shut_out),
      from_coordinator(this, coordinator_, &aggregator::hold),
      from_coordinator(this, coordinator_, &aggregator::change_roster),
      from_coordinator(this, coordinator_, &aggregator::close_job),
      [](const policies::checkpoint_call&) -> caf::result<std::uint64_t> {
        return to_error({runtime::errc::invalid_argument, "an aggregator has nothing to keep"});
      },
      [](const part_written_event&) {},
      [](const policies::lead_call&) -> caf::result<done_atom> { return no_group(); },
      [](const policies::follow_call&) -> caf::result<done_atom> { return no_group(); },
      [](const policies::promote_call&) -> caf::result<done_atom> { return no_group(); },
      [this](const policies::shard_moved& what) { upstream_moved(what); },
      [this](stop_atom) { quit(); },
      [this](look_atom) { look(); },
      [this](frame_event& event) {
        on_frame(event);
        if (is_mending()) look_soon(true);
      },
      [this](const peer_lost_event& event) { on_peer_lost(event); },
  };
}

void aggregator::on_exit() {
  front_->sender().post_all();
  sink_->close();
  home().close_link();
  front_->close();
}

caf::result<done_atom> aggregator::open_job(const policies::open_job_call& call) {
  if (core_.is_open()) return done_atom::value;  // an earlier call's
  if (call.nodes.empty() || call.members.empty() || call.upstream.empty())
    return to_error({runtime::errc::invalid_argument, "an aggregator hands sums on"});
  upstream_.clear();  // of a call before that failed
  for (const auto& address : call.upstream) {
    auto connected = home().connect(address);
    if (!connected) return to_error(connected.error());
    upstream_.push_back(*connected);
  }
  upstream_addresses_ = call.upstream;
  token_ = call.token;
  const auto keeps =
      policies::shard_core::versions_kept(call.consistency, call.workers_come_back, false);
  sizes_ = {call.workers, static_cast<std::uint32_t>(call.members.size()), 1 + keeps};
  core_.open_job({call.token, call.epoch, call.workers, call.consistency, call.members,
                  call.nodes, call.upstream_epochs, call.workers_come_back, call.incarnation,
                  call.upstream_moves});
  log::info("job " + call.name + ": " + policies::to_string(call.consistency) + ", sums " +
            std::to_string(call.members.size()) + " members to " +
            std::to_string(call.nodes.size()) + (call.nodes.size() == 1 ? " sum" : " sums"));
  return done_atom::value;
}

caf::result<done_atom> aggregator::open_table(const policies::open_table_call& call) {
  if (!core_.is_open() || call.token != token_)
    return to_error(
        {runtime::errc::not_found, "this aggregator does not know the job of the table"});
  if (!core_.front().slots_of(call.table).empty()) return done_atom::value;
  if (!call.first_clocks.empty() && call.first_clocks.size() != call.places.size())
    return to_error({runtime::errc::invalid_argument, "a first clock for each chunk, or none"});
  for (const auto& place : call.places)
    if (place.shard >= upstream_.size())
      return to_error({runtime::errc::invalid_argument, "a chunk lives on no upstream"});
  const auto chunks = core_.open_table(call.table, call.places);
  if (auto added = store_->add_table(call.table, chunks, sizes_, core_.nodes().size());
      !added.ok()) {
    core_.forget_table(call.table);
    return to_error(added);
  }
  core_.begin_at(chunks, call.first_clocks);
  front_->table_opened(call.token, call.table);
  return done_atom::value;
}

void aggregator::snapshot(const front::effects::snapshot&,
                          const policies::shard_core::cut_state&) {
  TIDEGATE_ASSERT(false, "an aggregator has nothing to keep");
}

// Of a member that has finished nothing else may tell.
caf::result<std::uint64_t> aggregator::admit(const policies::admit_worker_call& call) {
  auto admitted = front_->admit(call);
  look_soon(is_mending());
  say_farewell();
  return admitted;
}

caf::result<done_atom> aggregator::change_roster(const policies::roster_call& call) {
  front_->core().change_roster(call);
  say_farewell();
  return done_atom::value;
}

caf::result<done_atom> aggregator::close_job(const policies::close_job_call& call) {
  close_job(call.token);
  return done_atom::value;
}

void aggregator::close_job(std::uint64_t token) {
  front_->core().about_job(token, [&](auto& out) { core_.front().close_job(token, out); });
}

void aggregator::on_peer_lost(const peer_lost_event& event) {
  const auto at = std::find(upstream_.begin(), upstream_.end(), event.peer);
  if (at == upstream_.end()) {
    front_->on_peer_lost(event);
  } else if (!event.ended) {
    log::info("lost the connection upstream: " + event.why + "; it is made again");
    core_.connection_broke(static_cast<std::uint32_t>(at - upstream_.begin()),
                           runtime::steady_now());
  } else if (core_.upstream_moves()) {
    log::info("lost the link upstream: " + event.why +
              "; another takes its place, or all go back");
  } else {
    log::error("lost the link upstream: " + event.why);
    close_job(token_);  // its members hear of it, and tell
  }
  look_soon(is_mending());
}

// Sums that wait to be sent are sent again when upstream answers.
bool aggregator::reconnect(std::uint32_t shard) {
  const auto& address = upstream_addresses_[shard];
  const auto connected = home().connect(address);
  if (!connected) return false;
  std::vector<policies::send_name> dropped;
  front_->sender().drop(upstream_[shard], dropped);
  home().link().disconnect(std::exchange(upstream_[shard], *connected));
  return true;
}

// Parameters go to where members read them.
runtime::buffer aggregator::place(const runtime::frame_header& header) {
  if (header.kind != frame_kind::pull_reply) return front_->place(header);
  const auto slot = core_.expects_reply(tag_of(header));
  auto& memory = store_->memory();
  if (!slot || header.payload_bytes != memory.bytes_of(*slot)) return {};
  const auto plane = core_.begin_reply(*slot);
  memory.prepare(*slot, plane);
  return runtime::buffer::view(
      {reinterpret_cast<std::byte*>(memory.at(*slot, plane)), memory.bytes_of(*slot)});
}

void aggregator::on_frame_lost(const runtime::frame_header& header) {
  if (header.kind == frame_kind::pull_reply) return reply_lost(header);
  front_->on_frame_lost(header);
}

void aggregator::reply_lost(const runtime::frame_header& header) {
  frames_.clear();
  core_.cancel_reply(tag_of(header), frames_);
  post(0, {});
}

void aggregator::upstream_moved(const policies::shard_moved& what) {
  if (!core_.is_news(what.shard, what.epoch)) return;
  const auto name = "upstream " + std::to_string(what.shard);
  if (const auto fenced = fence(home().address(), upstream_addresses_.at(what.shard));
      !fenced.ok()) {
    log::error(name + " has moved: " + fenced.to_string());
    return close_job(token_);
  }
  const auto connected = home().connect(what.address);
  log::info(name + " has moved" +
            (connected ? "" : " and cannot be reached: " + connected.error().message()));
  upstream_addresses_[what.shard] = what.address;
  // Of what the dead process was sending nothing else tells.
  if (connected)
    home().link().disconnect(std::exchange(upstream_[what.shard], *connected));
  else
    home().link().disconnect(upstream_[what.shard]);
  frames_.clear();
  core_.upstream_moved(what.shard, what.epoch, frames_);
  post(0, {});
  // Dead again, perhaps, before this was heard, or not reachable yet.
  if (!connected) core_.connection_broke(what.shard, runtime::steady_now());
  look_soon(is_mending());
}

void aggregator::no_replica() {
  TIDEGATE_ASSERT(false, "an aggregator has no replica");
}

void aggregator::on_frame(frame_event& event) {
  const auto& header = event.header;
  if (header.kind == frame_kind::pull_reply && core_.is_stale(header))
    return reply_lost(header);
  if (policies::aggregator_core::is_resend(header)) {
    frames_.clear();
    core_.on_resend(header, frames_);
    return post(0, {});
  }
  if (policies::aggregator_core::is_answer(header)) {
    core_.on_answer(header, front_->core().pending(header.job, header.table));
    front_->core().carry_out();
    return say_farewell();
  }
  front_->on_frame(event);
  if (header.kind == frame_kind::finished) say_farewell();
}

void aggregator::look() {
  looked();
  const auto now = runtime::steady_now();
  front_->mend();
  frames_.clear();
  core_.mend(
      now, [this](std::uint32_t shard) { return reconnect(shard); }, frames_);
  // Not while frames wait to be sent: what has not left cannot be lost.
  if (home().link().loses_frames() && front_->sender().waiting() == 0) core_.tick(now, frames_);
  post(0, {});
  look_soon(is_mending());
}

void aggregator::say_farewell() {
  frames_.clear();
  core_.say_farewell(frames_);
  post(0, {});
}

void aggregator::apply(const front::effects::apply&, front::inputs) {
  TIDEGATE_ASSERT(false, "an aggregator hands on what is pushed");
}

void aggregator::hand_on(const front::effects::hand_on& what, front::inputs from) {
  frames_.clear();
  core_.hand_on(what, from, frames_);
  post(what.slot, from);
}

void aggregator::ask(const front::effects::ask& what) {
  frames_.clear();
  core_.ask(what, frames_);
  post(what.slot, {});
}

void aggregator::post(std::uint32_t slot, front::inputs from) {
  for (const auto& frame : frames_) {
    auto header = header_of(frame);
    if (frame.kind != kind::push) {
      front_->sender().send(upstream_[frame.shard], header);
      continue;
    }
    const auto payload = frame.again ? store_->sum_again(frame)
                                     : store_->sum(slot, frame.node, frame.tag.clock,
                                                   from.subspan(frame.first, frame.count));
    header.payload_bytes = payload.size();
    // Nobody asks when it is sent: a push is answered after that, and its sum stays until then.
    front_->sender().send(upstream_[frame.shard], header, payload,
                          policies::use_order(frame.tag.clock, frame.tag.table));
  }
}

}  // namespace tidegate::actors
