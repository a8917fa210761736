#include "actors/shard/ingress_shell.hpp"

#include <algorithm>
#include <utility>

#include "actors/seam/log_lines.hpp"
#include "actors/shard/row_check.hpp"

namespace tidegate::actors {

using policies::frame_tag;
using policies::member_key;
using policies::reply_code;
using runtime::errc;
using runtime::frame_kind;

namespace {

// Of one table, that differ. A worker asks a few times, for what it does not know yet.
constexpr std::size_t device_answers_max = 1024;

}  // namespace

ingress_shell::ingress_shell(owner& of, shell_home& home, policies::shard_core& shard,
                             ingress_memory& memory, std::uint32_t index)
    : owner_(of),
      home_(home),
      shard_(shard),
      memory_(memory),
      sender_(home),
      frames_(sender_, memory, home.functions()),
      core_(*this, shard, index, home.limits().turn_bytes) {
  core_.set_reconnect_limits(home.limits().reconnects);
}

runtime::expected<std::uint64_t> ingress_shell::admit(const policies::admit_worker_call& call) {
  const auto admission = core_.admit(call);
  if (admission.code != reply_code::ok)
    return runtime::fail(errc::refused, "the shard refuses the worker: " +
                                            std::string(to_string(admission.code)));
  if (!admission.connect) return admission.first_clock;
  const auto connected = home_.connect(call.address);
  // `unavailable` would say that this process is.
  if (!connected)
    return runtime::fail(errc::refused,
                         "the worker cannot be reached: " + connected.error().message());
  core_.connected(call, *connected);
  addresses_[{call.token, call.rank, call.incarnation}] = call.address;
  return admission.first_clock;
}

void ingress_shell::table_opened(std::uint64_t job, std::uint32_t table) {
  if (!shard_.registry().has_rows(table)) names_[table] = memory_.place_of_parameters(table);
  core_.table_opened(job);
}

void ingress_shell::on_peer_lost(const peer_lost_event& event) {
  if (const auto* member = core_.member_at(event.peer))
    home_.log(severity::info,
              "lost the connection to rank " + std::to_string(member->rank) + ": " + event.why);
  if (event.ended)
    core_.peer_lost(event.peer);
  else
    core_.connection_broke(event.peer, home_.now());
}

std::optional<ingress_shell::peer_id> ingress_shell::reconnect(const member_key& member) {
  const auto at = addresses_.find(member);
  if (at == addresses_.end()) return {};
  const auto connected = home_.connect(at->second);
  if (!connected) return {};
  return *connected;
}

void ingress_shell::add_outages(outage_watch& watch) const {
  watch.add(core_, [this](const member_key& member) {
    const auto at = addresses_.find(member);
    return at == addresses_.end() ? std::string() : at->second;
  });
}

void ingress_shell::close() {
  home_.forget(*this);
  home_.forget(acks_);
  frames_.drop();
  sender_.drop();
}

runtime::buffer ingress_shell::place(const runtime::frame_header& header) {
  if (!core_.place(header)) return {};
  const bool on_host = header.kind == frame_kind::attach;
  const bool on_device = header.kind == frame_kind::device_attach;
  if ((on_host && header.payload_bytes != runtime::place_wire_bytes) ||
      (on_device && header.payload_bytes != device_gradients_bytes))
    return {};
  const bool is_place = on_host || on_device;
  const bool is_small = is_place || header.kind == frame_kind::call;
  auto lease = !is_place && is_of_rows(header) ? lease_rows(shard_, memory_, header)
               : is_small                      ? memory_.lease_name(header.payload_bytes)
                                               : memory_.lease(header.payload_bytes);
  if (!lease) core_.no_place(header);
  return lease;
}

void ingress_shell::go_on() {
  const arrival_reports::work work(arrivals_);
  core_.go_on();
}

policies::reply_code ingress_shell::apply(const effects::apply& step, inputs from) {
  arrivals_.record_step(shard_.registry(), step.slot, step.clock);
  return owner_.apply(step, from);
}

void ingress_shell::hand_on(const effects::hand_on& step, inputs from) {
  arrivals_.record_step(shard_.registry(), step.slot, step.clock);
  owner_.hand_on(step, from);
}

void ingress_shell::on_frame(frame_event& event) {
  const auto& header = event.header;
  const arrival_reports::work work(arrivals_, header);
  const auto taken = take_rows(shard_, memory_, home_, header, event.payload, "a worker");
  if (taken == runtime::errc::over_limit) return core_.no_place(header);
  if (taken == runtime::errc::not_found)
    return core_.refuse_payload(header, reply_code::unknown_list);
  if (taken != runtime::errc::ok) return core_.refuse_payload(header, reply_code::wrong_size);
  auto payload = policies::no_payload;
  if (header.kind == frame_kind::push) {
    arrivals_.count_in(header.payload_bytes);
    payload = memory_.keep(std::move(event.payload));
  }
  if (header.kind == frame_kind::call) payload = memory_.keep_call(std::move(event.payload));
  const auto bytes =
      payload == policies::no_payload ? event.payload.bytes() : std::span<const std::byte>();
  core_.frame(header, payload, bytes, event.copied);
}

void ingress_shell::send_place(peer_id to, const runtime::frame_header& header) {
  const auto& wire = names_.at(header.table);
  auto with_place = header;
  with_place.payload_bytes = wire.size();
  home_.link().post(to, with_place, wire, 0);
}

// What is sent stays as it was: nobody says when it has left.
void ingress_shell::send_device_places(peer_id to, const runtime::frame_header& header,
                                       std::uint64_t known) {
  const auto places = memory_.device_parameters(header.table, known);
  auto answer = header;
  if (places.empty()) {
    answer.code = static_cast<std::uint32_t>(reply_code::no_window);
    return home_.link().post(to, answer, {}, 0);
  }
  auto& sent = device_names_[header.table];
  auto bytes = runtime::encode(places);
  auto at = std::find(sent.begin(), sent.end(), bytes);
  if (at == sent.end() && sent.size() >= device_answers_max) {
    answer.code = static_cast<std::uint32_t>(reply_code::no_window);
    return home_.link().post(to, answer, {}, 0);
  }
  if (at == sent.end()) at = sent.insert(sent.end(), std::move(bytes));
  answer.payload_bytes = at->size();
  home_.link().post(to, answer, *at, 0);
}

void ingress_shell::send_parameters(peer_id to, const runtime::frame_header& header,
                                    std::uint32_t slot, std::uint32_t version_buffer,
                                    policies::send_name name) {
  owner_.show({&slot, 1}, version_buffer);
  arrivals_.count_out(memory_.bytes_of(slot));
  frames_.send_parameters(to, header, slot, version_buffer,
                          policies::use_order(header.clock, header.table), name);
}

void ingress_shell::send_results(peer_id to, const runtime::frame_header& header,
                                 std::uint32_t slot, std::uint32_t version_buffer,
                                 policies::payload_handle call, policies::send_name name) {
  if (is_of_rows(header)) return send_rows(to, header, slot, version_buffer, call, name);
  owner_.show({&slot, 1}, version_buffer);
  frames_.send_results(to, header, slot, version_buffer, memory_.call_bytes(call),
                       policies::use_order(header.clock, header.table), name);
}

bool ingress_shell::may_answer(std::uint32_t slot, policies::payload_handle call) {
  if (!shard_.registry().has_rows(shard_.registry().name_of(slot).table)) return true;
  next_answer_ = memory_.lease_answer(slot, memory_.call_bytes(call));
  return static_cast<bool>(next_answer_);
}

// The rows are gathered now, as the next step changes them where they are.
void ingress_shell::send_rows(peer_id to, const runtime::frame_header& header,
                              std::uint32_t slot, std::uint32_t version_buffer,
                              policies::payload_handle request, policies::send_name name) {
  const auto& room = row_answers_[name] = std::exchange(next_answer_, {});
  auto answer =
      memory_.answer_rows(header, slot, version_buffer, memory_.call_bytes(request), room);
  auto with_size = header;
  with_size.payload_bytes = answer.bytes.size();
  arrivals_.count_out(answer.bytes.size());
  frames_.send(to, with_size, answer.bytes, policies::use_order(header.clock, header.table),
               name, std::move(answer.late));
}

void ingress_shell::drop(peer_id to, std::vector<policies::send_name>& names) {
  frames_.drop(to, names);
  for (const auto name : names) row_answers_.erase(name);
  home_.link().disconnect(to);
}

reply_code ingress_shell::map_gradients(const member_key& member, std::uint32_t table,
                                        std::span<const std::byte> place) {
  const auto mapped = memory_.map_gradients(member, table, place);
  if (mapped.ok()) return reply_code::ok;
  if (is_worth_a_line(++windows_refused_))
    home_.log(severity::info,
              "rank " + std::to_string(member.rank) +
                  " sends frames, its memory cannot be read: " + mapped.message());
  return reply_code::no_window;
}

bool ingress_shell::map_on_device(const member_key& member, std::uint32_t table,
                                  std::span<const std::byte> places) {
  const auto mapped = memory_.map_on_device(member, table, places);
  if (!mapped.ok() && is_worth_a_line(++device_windows_refused_))
    home_.log(severity::info, "gradients of rank " + std::to_string(member.rank) +
                                  " come by way of the host: " + mapped.message());
  return mapped.ok();
}

void ingress_shell::forget(const member_key& member) {
  addresses_.erase(member);
  memory_.forget(member);
}

void ingress_shell::note_refusal(const frame_tag& tag, reply_code code) {
  if (is_worth_a_line(++refusals_))
    home_.log(severity::warning,
              "refused a frame of rank " + std::to_string(tag.rank) + ", table " +
                  std::to_string(tag.table) + ", chunk " + std::to_string(tag.chunk) +
                  ", clock " + std::to_string(tag.clock) + ": " + std::string(to_string(code)) +
                  " (" + std::to_string(refusals_) + " so far)");
}

}  // namespace tidegate::actors
