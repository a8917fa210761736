#include "actors/front.hpp"

#include <bit>
#include <utility>

#include "actors/errors.hpp"
#include "policies/gradient_half.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

namespace log = runtime::log;

using policies::frame_tag;
using policies::gradient_halves;
using policies::member_key;
using policies::refusal;
using runtime::frame_kind;

namespace {

constexpr std::uint64_t lines_max = 16;  // of the log; a flood is not worth a flood

}  // namespace

front::front(owner& who, reactor& home, policies::shard_core& shard, front_memory& memory,
             std::uint32_t index)
    : owner_(who),
      home_(home),
      memory_(memory),
      sender_(home),
      core_(*this, shard, index),
      attach_pool_(std::make_shared<runtime::heap_source>()) {
  attach_pool_.allow(runtime::place_wire_bytes, runtime::limits::tables_max);
}

caf::result<std::uint64_t> front::admit(const policies::admit_worker_call& call) {
  const auto admission = core_.admit(call);
  if (admission.code != refusal::none)
    return to_error({runtime::errc::refused, "the shard refuses the worker: " +
                                                 std::string(to_string(admission.code))});
  if (!admission.connect) return admission.first_clock;
  auto connected = home_.connect(call.address);
  // Not `unavailable`, which we are not.
  if (!connected)
    return to_error({runtime::errc::refused,
                     "the worker cannot be reached: " + connected.error().message()});
  core_.connected(call, *connected);
  addresses_[{call.token, call.rank, call.incarnation}] = call.address;
  return admission.first_clock;
}

void front::table_opened(std::uint64_t job, std::uint32_t table) {
  names_[table] = runtime::encode(memory_.place_of(table).name);
  core_.table_opened(job);
}

void front::on_peer_lost(const peer_lost_event& event) {
  if (const auto* member = core_.member_at(event.peer))
    log::info("lost the connection to rank " + std::to_string(member->rank) + ": " + event.why);
  if (event.ended)
    core_.peer_lost(event.peer);
  else
    core_.connection_broke(event.peer, runtime::steady_now());
}

void front::mend() {
  core_.mend(runtime::steady_now());
}

std::optional<front::peer_id> front::reconnect(const member_key& member) {
  const auto at = addresses_.find(member);
  if (at == addresses_.end()) return {};
  const auto& address = at->second;
  const auto connected = home_.connect(address);
  if (!connected) return {};
  return *connected;
}

void front::close() {
  home_.forget(*this);
  home_.forget(acks_);
  sender_.drop();
}

runtime::buffer front::place(const runtime::frame_header& header) {
  if (!core_.place(header)) return {};
  if (header.kind == frame_kind::attach)
    return header.payload_bytes == runtime::place_wire_bytes
               ? attach_pool_.lease(runtime::place_wire_bytes)
               : runtime::buffer();
  auto lease = memory_.lease(header.payload_bytes);
  if (!lease) core_.no_place(header);
  return lease;
}

void front::on_frame(frame_event& event) {
  const auto& header = event.header;
  const bool pushes = header.kind == frame_kind::push;
  const auto bytes = pushes ? std::span<const std::byte>() : event.payload.bytes();
  core_.frame(header, pushes ? memory_.keep(std::move(event.payload)) : policies::no_payload,
              bytes, event.copied);
}

void front::send(peer_id to, const runtime::frame_header& header) {
  sender_.send(to, header);
}

void front::send_place(peer_id to, const runtime::frame_header& header) {
  const auto& wire = names_.at(header.table);
  auto with_place = header;
  with_place.payload_bytes = wire.size();
  home_.link().post(to, with_place, wire, 0);
}

void front::send_parameters(peer_id to, const runtime::frame_header& header, std::uint32_t slot,
                            std::uint32_t plane, policies::send_name name) {
  sender_.send(to, header, memory_.parameters(slot, plane),
               policies::use_order(header.clock, header.table), name);
}

void front::drop(peer_id to, std::vector<policies::send_name>& names) {
  sender_.drop(to, names);
  home_.link().disconnect(to);
}

refusal front::map_gradients(const member_key& who, std::uint32_t table,
                             std::span<const std::byte> place) {
  auto& home = members_[who];
  auto name = runtime::decode_place(place);
  auto opened =
      name ? home.memory.open(*name, memory_.reach_of(table), gradient_halves, gradient_halves)
           : runtime::expected<runtime::window>(runtime::fail(name.error()));
  if (opened) {
    home.gradients[table] = *opened;
    return refusal::none;
  }
  if (++windows_refused_ <= lines_max)
    log::info("rank " + std::to_string(who.rank) +
              " sends frames, its memory cannot be read: " + opened.error().message());
  return refusal::no_window;
}

policies::payload_handle front::keep_in_place(const member_key& who, std::uint32_t table,
                                              std::uint32_t half, std::uint32_t slot) {
  return memory_.keep(members_.at(who).gradients.at(table).at(half), slot);
}

void front::release(policies::payload_handle payload) {
  if (!retired_.empty()) count_off(memory_.gradient(payload));
  memory_.release(payload);
}

// The pushes of an earlier process count like any, and a step may yet read them in its memory.
void front::forget(const member_key& who) {
  addresses_.erase(who);
  const auto at = members_.find(who);
  if (at == members_.end()) return;
  auto memory = std::move(at->second.memory);
  members_.erase(at);
  const auto pushes = memory_.kept_in(memory);
  if (pushes > 0) retired_.push_back({pushes, std::move(memory)});
}

void front::count_off(const float* gradient) {
  for (auto& one : retired_)
    if (one.memory.holds(gradient)) --one.pushes;
  std::erase_if(retired_, [](const retired_memory& one) { return one.pushes == 0; });
}

void front::note_refusal(const frame_tag& tag, refusal code) {
  ++refusals_;
  // The first ones are worth a line each.
  if (refusals_ <= lines_max || std::has_single_bit(refusals_))
    log::warn("refused a frame of rank " + std::to_string(tag.rank) + ", table " +
              std::to_string(tag.table) + ", chunk " + std::to_string(tag.chunk) + ", clock " +
              std::to_string(tag.clock) + ": " + std::string(to_string(code)) + " (" +
              std::to_string(refusals_) + " so far)");
}

}  // namespace tidegate::actors
