#include "actors/client/worker_shell.hpp"

#include <algorithm>
#include <span>

namespace tidegate::actors {

using policies::reply_code;
using runtime::errc;
using runtime::frame_kind;
using runtime::status;

worker_shell::worker_shell(shell_home& home, worker_memory& memory, worker_owner& owner,
                           policies::state_port& state, const policies::worker_welcome& welcome,
                           std::uint32_t rank, std::uint32_t incarnation)
    : home_(home),
      memory_(memory),
      owner_(owner),
      aggregated_(welcome.aggregated),
      shards_move_(welcome.replicated || welcome.aggregated),
      mirrors_(state.mirror_every() > 0),
      sender_(home),
      core_(*this, state, welcome, rank, incarnation),
      answers_came_(welcome.shard_addresses.size()),
      addresses_(welcome.shard_addresses) {
  core_.set_retransmit_limits(home.limits().retransmit);
  core_.set_reconnect_limits(home.limits().reconnects);
}

void worker_shell::start() {
  for (const auto& address : addresses_) {
    const auto connected = home_.connect(address);
    if (!connected) {
      broken_ = connected.error();
      return;
    }
    shards_.push_back(*connected);
  }
  for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
    core_.connected(shard, home_.now());
  look_soon();
}

void worker_shell::mirrored(std::uint64_t request) {
  if (broken_.ok()) core_.mirrored(request);
}

std::string worker_shell::name_of(std::uint32_t shard) const {
  return aggregated_ ? "our aggregator" : "shard " + std::to_string(shard);
}

void worker_shell::on_peer_lost(const peer_lost_event& event) {
  const auto at = std::find(shards_.begin(), shards_.end(), event.peer);
  if (!broken_.ok() || at == shards_.end()) return;  // an earlier connection
  const auto shard = static_cast<std::uint32_t>(at - shards_.begin());
  const auto why = "lost the connection to " + name_of(shard) + ": " + event.why;
  if (event.ended && !shards_move_) return fail({errc::unavailable, why});
  if (event.ended)
    return home_.log(severity::info, why + "; another takes its place, or all go back");
  home_.log(severity::info, why + "; it is made again");
  core_.connection_broke(shard, home_.now());
  look_soon();
}

void worker_shell::look() {
  looks_.came();
  if (!broken_.ok()) return;
  const auto now = home_.now();
  core_.mend(now);
  outages_.add(core_, [this](std::uint32_t shard) { return addresses_[shard]; });
  outages_.report();
  // Not while gradients wait to be sent: what has not left cannot be lost.
  if (home_.link().loses_frames() && sender_.waiting() == 0) {
    core_.tick(now);
    carry_out();
  }
  look_soon();
}

bool worker_shell::reconnect(std::uint32_t shard) {
  const auto connected = home_.connect(addresses_[shard]);
  if (!connected) return false;
  drop_waiting(shard);
  home_.link().disconnect(std::exchange(shards_[shard], *connected));
  return true;
}

void worker_shell::drop_waiting(std::uint32_t shard) {
  dropped_.clear();
  sender_.drop(shards_[shard], dropped_);
}

// A reply that was cut off is asked for again where its shard has moved.
void worker_shell::on_frame_lost(const runtime::frame_header& header) {
  if (!broken_.ok()) return;
  core_.reply_lost(header);
  carry_out();
}

void worker_shell::shard_moved(const policies::shard_moved& moved) {
  const auto shard = moved.shard;
  if (!broken_.ok() || shard >= shards_.size() || moved.epoch <= core_.epoch_of(shard)) return;
  if (const auto fenced = home_.fence(addresses_[shard]); !fenced.ok())
    return fail({fenced.code(), name_of(shard) + " has been replaced, and reads our memory: " +
                                    fenced.message()});
  const auto connected = home_.connect(moved.address);
  home_.log(severity::info,
            name_of(shard) + " has moved" +
                (connected ? "" : " and cannot be reached: " + connected.error().message()));
  // Nothing else tells what became of frames that were on their way to the dead process.
  if (connected)
    home_.link().disconnect(std::exchange(shards_[shard], *connected));
  else
    home_.link().disconnect(shards_[shard]);
  addresses_[shard] = moved.address;
  core_.shard_moved(shard, moved.epoch, [this](std::uint32_t of) {
    return home_.shares_memory_with(addresses_[of]);
  });
  // It may have died, too, before this was heard, or not be reachable yet.
  if (connected)
    core_.connected(shard, home_.now());
  else
    core_.connection_broke(shard, home_.now());
  set_background();
  owner_.progressed();
  carry_out();
}

void worker_shell::open(std::uint32_t table, std::vector<policies::chunk_place> places,
                        bool has_rows) {
  if (!has_rows) places_[table] = memory_.place_of_gradients(table);
  core_.open(
      table, std::move(places),
      [this](std::uint32_t shard) { return home_.shares_memory_with(addresses_[shard]); },
      has_rows);
  look_soon();
}

void worker_shell::opened(std::uint32_t table) {
  // Nothing moves in place while the session's thread is away.
  set_background();
  owner_.opened(table);
}

bool worker_shell::map_parameters(std::uint32_t table, const policies::table_part& part,
                                  std::span<const std::byte> place) {
  const auto moves = core_.worker().tables().moves_of(part.shard);
  const auto mapped = memory_.map_parameters(table, part, moves, place);
  if (!mapped.ok())
    home_.log(severity::info, "frames are used with shard " + std::to_string(part.shard) +
                                  ": " + mapped.message());
  return mapped.ok();
}

bool worker_shell::map_on_device(std::uint32_t table, const policies::table_part& part,
                                 std::span<const std::byte> places) {
  const auto moves = core_.worker().tables().moves_of(part.shard);
  const auto mapped = memory_.map_on_device(table, part, moves, places);
  if (!mapped.ok())
    home_.log(severity::info, "parameters of shard " + std::to_string(part.shard) +
                                  " come by way of the host: " + mapped.message());
  return mapped.ok();
}

runtime::buffer worker_shell::place(const runtime::frame_header& header) {
  if (!broken_.ok() || !core_.expects(header)) return {};
  if (header.kind == frame_kind::device_attach_ack) {
    if (header.payload_bytes > runtime::device_places_bytes_max) return {};
    auto& answer = device_answers_[std::uint64_t{header.table} << 16 | header.shard];
    return runtime::buffer::view(std::span(answer).first(header.payload_bytes));
  }
  if (header.kind == frame_kind::attach_ack) {
    if (header.payload_bytes != runtime::place_wire_bytes) return {};
    return runtime::buffer::view(answers_[std::uint64_t{header.table} << 16 | header.shard]);
  }
  const auto& where = core_.worker().tables().place_of(header.table, header.chunk);
  const auto room = header.kind == frame_kind::call_reply
                        ? memory_.room_for_results(where, header.table, header.payload_bytes)
                        : memory_.room_for(where, header.table);
  if (room.empty()) return {};
  core_.begin_reply(header);
  return runtime::buffer::view(room);
}

void worker_shell::on_frame(frame_event& event) {
  if (!broken_.ok()) return;
  if (event.header.kind == frame_kind::pull_reply) owner_.copied(event.copied);
  if (answers_came_.is_kept()) note_answer(event.header, home_.record_now());
  core_.frame(event.header, event.payload.bytes());
  owner_.progressed();
  carry_out();
}

void worker_shell::note_answer(const runtime::frame_header& header, std::int64_t now) {
  const bool is_answer =
      header.kind == frame_kind::pull_reply || header.kind == frame_kind::push_ack ||
      header.kind == frame_kind::doorbell_reply || header.kind == frame_kind::doorbell_ack ||
      header.kind == frame_kind::call_reply;
  if (!is_answer || header.shard >= shards_.size()) return;
  if (records_)
    home_.record(runtime::span_of(runtime::span_kind::answer, header, header.shard, now, now));
  // While the program computes nobody waits for an answer, and none is late.
  if (answers_came_.came(header.shard, core_.worker().now(), home_.waited_by(now)))
    owner_.answered(answers_came_.sums());
}

void worker_shell::carry_out() {
  core_.carry_out();
  const auto failure = core_.worker().failure();
  if (failure != reply_code::ok)
    return fail({errc::cancelled, "an earlier operation failed: a shard refused: " +
                                      std::string(to_string(failure))});
  look_soon();
}

void worker_shell::send_place(std::uint32_t shard, const runtime::frame_header& header) {
  const auto& place = places_.at(header.table);
  auto with_place = header;
  with_place.payload_bytes = place.size();
  home_.link().post(shards_[shard], with_place, place, 0);
}

void worker_shell::send_device_places(std::uint32_t shard,
                                      const runtime::frame_header& header) {
  const auto places = memory_.device_gradients(header.table);
  auto with_places = header;
  with_places.payload_bytes = places.size();
  home_.link().post(shards_[shard], with_places, places, 0);
}

void worker_shell::note(const std::string& text) {
  home_.log(severity::info, text);
}

// Nobody asks when it is sent: a push is acknowledged only when applied, which is after that.
void worker_shell::send_gradient(const policies::worker_effects::send& push,
                                 const runtime::frame_header& header, std::uint64_t priority) {
  send_payload(push, header, priority);
}

// Its memory stays, and a shard knows an old call by its number.
void worker_shell::send_call(const policies::worker_effects::send& call,
                             const runtime::frame_header& header) {
  send_payload(call, header, policies::use_order(header.clock, header.table));
}

void worker_shell::send_payload(const policies::worker_effects::send& send,
                                runtime::frame_header header, std::uint64_t priority) {
  std::optional<std::uint32_t> moves;
  if (send.kind == policies::worker_effects::send_kind::call && is_here(send.shard))
    moves = core_.worker().tables().moves_of(send.shard);
  const auto payload = memory_.payload_of(send, moves);
  header.payload_bytes = payload.bytes.size();
  if (payload.is_coded)
    header.flags = static_cast<std::uint16_t>(header.flags | runtime::frame_flag_coded);
  sender_.send(shards_[send.shard], header, payload.bytes, priority);
}

// Before operations end that may not be over for the link: once one has ended, its memory is
// the user's again. Gradients that wait are not sent, and the link is closed by force.
void worker_shell::let_go() {
  sender_.drop();
  home_.break_link();
}

void worker_shell::fail(const status& why) {
  if (broken_.ok()) broken_ = why;
  let_go();
  owner_.failed(why);
}

}  // namespace tidegate::actors
