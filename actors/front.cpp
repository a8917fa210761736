#include "actors/front.hpp"

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

#include "actors/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

namespace log = runtime::log;

namespace {

constexpr std::uint64_t turn_bytes = 2u << 20;  // summed before frames are looked at again
constexpr auto gradient_halves = runtime::limits::clocks_in_flight_max;
constexpr std::uint64_t no_job = 0;  // of the queue for frames that nobody knows

}  // namespace

using policies::frame_tag;
using policies::refusal;
using runtime::frame_kind;

front::front(owner& who, reactor& home, policies::shard_core& core, front_memory& memory,
             std::uint32_t index)
    : owner_(who),
      home_(home),
      core_(core),
      memory_(memory),
      index_(index),
      sender_(home),
      attach_pool_(std::make_shared<runtime::heap_source>()) {
  attach_pool_.allow(runtime::place_wire_bytes, runtime::limits::tables_max);
}

void front::table_opened(std::uint32_t table) {
  names_[table] = runtime::encode(memory_.place_of(table).name);
}

front::worker_link* front::find(std::uint64_t job, std::uint32_t rank) {
  const auto at = workers_.find(job);
  if (at == workers_.end()) return nullptr;
  const auto worker = at->second.find(rank);
  return worker == at->second.end() ? nullptr : &worker->second;
}

runtime::buffer front::place(const runtime::frame_header& header) {
  if (header.kind == frame_kind::attach)
    return header.payload_bytes == runtime::place_wire_bytes
               ? attach_pool_.lease(runtime::place_wire_bytes)
               : runtime::buffer();
  return place_push(header);
}

runtime::buffer front::place_push(const runtime::frame_header& header) {
  const auto tag = tag_of(header);
  policies::push_admission admission{policies::push_admission::what::refuse,
                                     refusal::wrong_size};
  if (header.kind == frame_kind::push) admission = core_.begin_push(tag, header.payload_bytes);
  using what = policies::push_admission::what;
  if (admission.kind == what::drop) return {};
  if (admission.kind == what::take) {
    if (auto lease = memory_.lease(header.payload_bytes)) return lease;
    core_.cancel_push(tag);
    admission.code = refusal::no_memory;
  }
  // Behind what waits: a duplicate is not acknowledged before its step has been made.
  auto& out = pending(tag.job, tag.table);
  out.list.push_back(effects::acknowledge{tag, admission.code});
  if (admission.code != refusal::none && (header.flags & runtime::frame_flag_pull) != 0) {
    auto pull = tag;
    ++pull.clock;
    out.list.push_back(effects::reply{pull, admission.code, 0, {}, false});
  }
  go_on_soon();  // not within the link's progress
  return {};
}

void front::on_frame_lost(const runtime::frame_header& header) {
  if (header.kind == frame_kind::push) core_.cancel_push(tag_of(header));
}

void front::count_refusal(const frame_tag& tag, refusal code) {
  ++refusals_;
  // The first ones are worth a line each, a flood is not.
  if (refusals_ <= 16 || std::has_single_bit(refusals_))
    log::warn("refused a frame of rank " + std::to_string(tag.rank) + ", table " +
              std::to_string(tag.table) + ", chunk " + std::to_string(tag.chunk) + ", clock " +
              std::to_string(tag.clock) + ": " + std::string(to_string(code)) + " (" +
              std::to_string(refusals_) + " so far)");
}

void front::on_frame(frame_event& event) {
  const auto& header = event.header;
  const auto tag = tag_of(header);
  switch (header.kind) {
    case frame_kind::push:
    case frame_kind::skip:
      on_push(tag, event);
      break;
    case frame_kind::pull:
      core_.pull(tag, (header.flags & runtime::frame_flag_final) != 0,
                 pending(tag.job, tag.table));
      break;
    case frame_kind::finished:
      about_job(core_.check_worker(tag) == refusal::none ? tag.job : no_job,
                [&](effects& out) { core_.finished(tag, out); });
      break;
    case frame_kind::attach:
      on_attach(tag, event);
      break;
    case frame_kind::ring:
      on_ring(tag, header);
      break;
    case frame_kind::push_ack:
    case frame_kind::pull_reply:
    case frame_kind::attach_ack:
    case frame_kind::ring_ack:
    case frame_kind::ring_reply:
      count_refusal(tag, refusal::unknown_worker);  // not for shards
      break;
  }
  carry_out();
}

void front::on_push(const frame_tag& tag, frame_event& event) {
  const bool skip = event.header.kind == frame_kind::skip;
  auto* worker = find(tag.job, tag.rank);
  if (worker && worker->incarnation == tag.incarnation)
    worker->payload_bytes_copied += event.copied;
  core_.push(tag, skip ? policies::no_payload : memory_.keep(std::move(event.payload)),
             pending(tag.job, tag.table), (event.header.flags & runtime::frame_flag_pull) != 0);
}

// Maps the worker's gradients and says where the parameters are.
void front::on_attach(const frame_tag& tag, const frame_event& event) {
  auto code = core_.check_table(tag);
  auto* worker = find(tag.job, tag.rank);
  if (code == refusal::none && (!worker || core_.slots_of(tag.table).empty()))
    code = refusal::unknown_table;
  if (code == refusal::none) {
    auto name = runtime::decode_place(event.payload.bytes());
    auto opened = name ? worker->memory.open(*name, memory_.reach_of(tag.table),
                                             gradient_halves, gradient_halves)
                       : runtime::expected<runtime::window>(runtime::fail(name.error()));
    if (opened) {
      worker->gradients[tag.table] = *opened;
    } else {
      if (++windows_refused_ <= 16)  // a flood is not worth a flood
        log::info("rank " + std::to_string(tag.rank) +
                  " sends frames, its memory cannot be read: " + opened.error().message());
      code = refusal::no_window;
    }
  }
  auto header = header_of(frame_kind::attach_ack, tag, code);
  if (code != refusal::none) {
    send(tag, header);
    return;
  }
  const auto& wire = names_.at(tag.table);
  header.payload_bytes = wire.size();
  send(tag, header, wire);
}

void front::on_ring(frame_tag tag, const runtime::frame_header& header) {
  const auto has = [&](std::uint16_t flag) { return (header.flags & flag) != 0; };
  const policies::shard_core::ring_request what{
      has(runtime::frame_flag_push), has(runtime::frame_flag_skip),
      has(runtime::frame_flag_pull), has(runtime::frame_flag_final)};
  auto* worker = find(tag.job, tag.rank);
  if (!worker || core_.check_worker(tag) != refusal::none)
    return core_.ring(tag, what, {}, pending(tag.job, tag.table));  // refused
  if (header.plane >= gradient_halves)
    return count_refusal(tag, refusal::no_window);  // not one of ours, either
  if (tag.table != runtime::whole_job) {
    const auto at = worker->gradients.find(tag.table);
    if (at == worker->gradients.end())
      return count_refusal(tag, refusal::no_window);  // not one of ours: we ring when attached
    return ring_table(tag, at->second, header.plane, what);
  }
  for (const auto& [table, gradients] : worker->gradients) {
    tag.table = table;
    ring_table(tag, gradients, header.plane, what);
  }
}

void front::ring_table(const frame_tag& tag, const runtime::window& gradients,
                       std::uint32_t plane, const policies::shard_core::ring_request& what) {
  handles_.clear();
  if (what.push) {
    const auto* half = gradients.at(plane);
    for (const auto slot : core_.slots_of(tag.table))
      handles_.push_back(memory_.keep(half, slot));
  }
  core_.ring(tag, what, handles_, pending(tag.job, tag.table));
}

// Strangers name tables as they like: those share one queue.
front::effects& front::pending(std::uint64_t job, std::uint32_t table) {
  return core_.has_table(job, table) ? queue_.of(job, table)
                                     : queue_.of(no_job, runtime::whole_job);
}

void front::drain(std::uint64_t job) {
  queue_.drain(job, [&](const auto& effect, inputs all) {
    std::visit([&](const auto& what) { perform(what, all); }, effect);
  });
}

void front::carry_out() {
  const auto perform_one = [&](const auto& effect, inputs all) {
    std::visit([&](const auto& what) { perform(what, all); }, effect);
  };
  if (going_on_) return;  // soon
  budget_ = turn_bytes;
  while (budget_ > 0)
    if (!queue_.step(perform_one)) return;
  queue_.take_turns();
  if (!queue_.empty()) go_on_soon();
}

void front::go_on_soon() {
  if (!std::exchange(going_on_, true)) home_.after_progress(*this);
}

template <class Effect>
front::inputs front::inputs_of(const Effect& what, inputs all) {
  budget_ -= std::min(budget_, what.count * memory_.bytes_of(what.slot));
  return all.subspan(what.first, what.count);
}

void front::perform(const effects::apply& what, inputs all) {
  owner_.apply(what, inputs_of(what, all));
}

void front::perform(const effects::hand_on& what, inputs all) {
  owner_.hand_on(what, inputs_of(what, all));
}

void front::perform(const effects::release& what, inputs) {
  if (!retired_.empty()) count_off(memory_.gradient(what.payload));
  memory_.release(what.payload);
}

void front::perform(const effects::acknowledge& what, inputs) {
  if (what.code != refusal::none) count_refusal(what.tag, what.code);
  auto header = header_of(frame_kind::push_ack, what.tag, what.code);
  if (what.tag.chunk == runtime::whole_job)
    if (const auto* worker = find(what.tag.job, what.tag.rank))
      header.version = worker->payload_bytes_copied;
  send(what.tag, header);
}

void front::perform(const effects::ring_acknowledge& what, inputs) {
  if (what.code != refusal::none) count_refusal(what.tag, what.code);
  auto header = header_of(frame_kind::ring_ack, what.tag, what.code);
  header.count = what.count;
  send(what.tag, header);
}

void front::perform(const effects::ring_reply& what, inputs) {
  if (what.code != refusal::none) count_refusal(what.tag, what.code);
  auto header = header_of(frame_kind::ring_reply, what.tag, what.code);
  header.count = what.count;
  header.version = what.where.version;
  header.min_clock = what.where.min_clock;
  header.plane = static_cast<std::uint16_t>(what.where.plane);
  if (what.applied) header.flags = runtime::frame_flag_applied;
  send(what.tag, header);
}

void front::perform(const effects::reply& what, inputs) {
  auto header = header_of(frame_kind::pull_reply, what.tag, what.code);
  if (what.code != refusal::none) {
    count_refusal(what.tag, what.code);
    send(what.tag, header);
    return;
  }
  header.version = what.where.version;
  header.min_clock = what.where.min_clock;
  if (what.applied) header.flags = runtime::frame_flag_applied;
  const auto parameters = memory_.parameters(what.slot, what.where.plane);
  header.payload_bytes = parameters.size();
  header.shard = static_cast<std::uint16_t>(index_);
  const auto* worker = reachable(what.tag);
  if (!worker) return core_.sent(what.slot, what.tag.rank, what.where.plane);
  sender_.send(worker->peer, header, parameters,
               policies::use_order(what.tag.clock, what.tag.table), take_token(what));
}

// A stranger has no address; who is gone asks again when it is back.
const front::worker_link* front::reachable(const frame_tag& tag) {
  const auto* worker = find(tag.job, tag.rank);
  return worker && !worker->lost ? worker : nullptr;
}

void front::send(const frame_tag& tag, runtime::frame_header header,
                 std::span<const std::byte> small_payload) {
  const auto* worker = reachable(tag);
  if (!worker) return;
  header.shard = static_cast<std::uint16_t>(index_);
  home_.link().post(worker->peer, header, small_payload, 0);
}

runtime::send_token front::take_token(const effects::reply& what) {
  if (sending_free_.empty()) {
    sending_.emplace_back();
    sending_free_.reserve(sending_.size());
    sending_free_.push_back(sending_.size());
  }
  const auto token = sending_free_.back();
  sending_free_.pop_back();
  sending_[token - 1] = {what.slot, what.tag.rank, what.where.plane};
  return token;
}

void front::on_sent(runtime::send_token token) {
  give_back(sender_.on_sent(token));
}

// A reply has left its plane, or never will.
void front::give_back(runtime::send_token token) {
  if (token == 0) return;  // a frame of the owner's
  TIDEGATE_ASSERT(token <= sending_.size(), "a token of take_token");
  const auto& one = sending_[token - 1];
  core_.sent(one.slot, one.rank, one.plane);
  sending_free_.push_back(token);
}

}  // namespace tidegate::actors
