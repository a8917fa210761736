#include "actors/worker.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "actors/peer_address.hpp"
#include "policies/shard_core.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/unix_time.hpp"

namespace tidegate::actors {

using policies::refusal;
using runtime::errc;
using runtime::frame_kind;
using runtime::status;

worker::worker(caf::actor_config& config, reactor& home, worker_identity identity)
    : reactor_actor<worker_actor::base>(config, home),
      identity_(std::move(identity)),
      sender_(home),
      core_(*this, identity_.welcome, identity_.rank, identity_.incarnation) {}

worker::behavior_type worker::make_behavior() {
  sink_ = std::make_unique<frame_mailbox>(*this, *this, home());
  home().open_link(sink_.get());
  addresses_ = identity_.welcome.shard_addresses;
  for (const auto& address : addresses_) {
    auto connected = home().connect(address);
    if (!connected) {
      broken_ = connected.error();
      break;
    }
    shards_.push_back(*connected);
  }
  look_soon(false);
  monitor(identity_.watched);
  set_down_handler([this](const caf::down_msg&) {
    fail_all({errc::unavailable, "the coordinator is gone"});
  });
  if (shards_move())
    identity_.coordinator->tell([run = identity_.run, job = identity_.job,
                                 rank = identity_.rank, incarnation = identity_.incarnation,
                                 me = caf::actor_cast<caf::actor>(this)](const auto& there) {
      caf::anon_send(there, moves_atom::value, run, job, rank, incarnation, me);
    });
  return {
      [this](const worker_command_ptr& command) { on_command(command); },
      [this](look_atom) { look(); },
      [this](frame_event& event) { on_frame(event); },
      [this](const policies::shard_moved& what) { shard_moved(what); },
      [this](const peer_lost_event& event) { on_peer_lost(event); },
  };
}

void worker::on_peer_lost(const peer_lost_event& event) {
  const auto at = std::find(shards_.begin(), shards_.end(), event.peer);
  if (!broken_.ok() || at == shards_.end()) return;  // an earlier connection
  const auto shard = static_cast<std::uint32_t>(at - shards_.begin());
  const auto why = "lost the connection to " + name_of(shard) + ": " + event.why;
  if (event.ended && !shards_move()) return fail_all({errc::unavailable, why});
  if (event.ended) return runtime::log::info(why + "; another takes its place, or all go back");
  runtime::log::info(why + "; it is made again");
  core_.connection_broke(shard, runtime::steady_now());
  look_soon(core_.is_mending());
}

void worker::look() {
  looked();
  if (!broken_.ok()) return;
  const auto now = runtime::steady_now();
  core_.mend(now);
  // Not while gradients wait to be sent: what has not left cannot be lost.
  if (home().link().loses_frames() && sender_.waiting() == 0) {
    core_.tick(now);
    carry_out();
  }
  look_soon(core_.is_mending());
}

bool worker::reconnect(std::uint32_t shard) {
  const auto& address = addresses_[shard];
  const auto connected = home().connect(address);
  if (!connected) return false;
  dropped_.clear();
  sender_.drop(shards_[shard], dropped_);
  home().link().disconnect(std::exchange(shards_[shard], *connected));
  return true;
}

// A reply that was cut off is asked for again where its shard has moved.
void worker::on_frame_lost(const runtime::frame_header& header) {
  core_.reply_lost(header);
  carry_out();
}

std::string worker::name_of(std::uint32_t shard) const {
  return identity_.welcome.aggregated ? "our aggregator" : "shard " + std::to_string(shard);
}

void worker::shard_moved(const policies::shard_moved& what) {
  if (!broken_.ok() || what.shard >= shards_.size() || what.epoch <= core_.epoch_of(what.shard))
    return;
  if (auto fenced = fence(home().address(), addresses_[what.shard]); !fenced.ok())
    return fail_all(
        {fenced.code(), name_of(what.shard) +
                            " has been replaced, and reads our memory: " + fenced.message()});
  const auto connected = home().connect(what.address);
  runtime::log::info(
      name_of(what.shard) + " has moved" +
      (connected ? "" : " and cannot be reached: " + connected.error().message()));
  // Of what the dead process was sending nothing else tells.
  if (connected)
    home().link().disconnect(std::exchange(shards_[what.shard], *connected));
  else
    home().link().disconnect(shards_[what.shard]);
  addresses_[what.shard] = what.address;
  core_.shard_moved(what.shard, what.epoch, [this](std::uint32_t shard) {
    return share_memory(home().address(), addresses_[shard]);
  });
  // Dead again, perhaps, before this was heard, or not reachable yet.
  if (!connected) core_.connection_broke(what.shard, runtime::steady_now());
  home().run_in_background(!core_.attached_everywhere());
  update_numbers();
  carry_out();
  look_soon(core_.is_mending());
}

void worker::on_exit() {
  identity_.coordinator->tell(nullptr);
  sink_->close();
  // What is posted goes out. After finish() no gradient waits to be: all are acknowledged.
  home().close_link();
  fail_all({errc::cancelled, "the session was closed"});
}

std::string worker::describe(const worker_command& command, std::uint64_t clock) const {
  const auto at = " at clock " + std::to_string(clock);
  const auto table = tables_.find(command.table);
  const auto name = table == tables_.end() ? "?" : table->second.name;
  switch (command.kind) {
    case worker_command::what::open:
      return "opening table '" + command.grant.name + "'";
    case worker_command::what::push:
      return "push of table '" + name + "'" + at;
    case worker_command::what::pull:
      return "pull of table '" + name + "'" + at;
    case worker_command::what::clock:
      return "clock()" + at;
    case worker_command::what::room:
      return "waiting for credits" + at;
    case worker_command::what::exchange:
      return "exchange()" + at;
    case worker_command::what::finish:
      return "finish()" + at;
  }
  return {};
}

errc worker::start(worker_command& command, policies::operation op) {
  return core_.begin([&](policies::worker_core& core, policies::worker_effects& out) {
    switch (command.kind) {
      case worker_command::what::open:
        break;  // done in on_command
      case worker_command::what::push:
        return core.push(command.table, op, out, command.half);
      case worker_command::what::pull:
        return core.pull(command.table, op, command.extent, out);
      case worker_command::what::clock:
        return core.clock(op, out);
      case worker_command::what::room:
        return core.room(op, out);
      case worker_command::what::exchange:
        return core.exchange(command.tables, op, out, command.half);
      case worker_command::what::finish:
        return core.finish(op, out);
    }
    return errc::ok;
  });
}

// Where the memory of an operation that has begun is. The shards may write from now on where
// the parameters of the pull before lie.
void worker::take_memory(const worker_command& command) {
  if (command.kind == worker_command::what::push) {
    auto& table = tables_.at(command.table);
    table.gradients[command.half] = take_gradient(table, command);
    table.memory->reset();
  }
  if (command.kind == worker_command::what::pull) {
    auto& table = tables_.at(command.table);
    table.parameters = command.parameters;
    table.memory->reset();
  }
  if (command.kind != worker_command::what::exchange) return;
  for (const auto id : command.tables) {
    auto& table = tables_.at(id);
    table.gradients[command.half] = nullptr;
    table.parameters = nullptr;
    table.memory->reset();
  }
}

// Shards read gradients in place; those of a user's own memory are copied there first. Without
// such a shard they are sent from where they are.
const float* worker::take_gradient(const table_state& table, const worker_command& command) {
  if (!command.gradient || !table.memory->has_windows()) return command.gradient;
  const auto place = table.memory->gradient(command.half);
  std::memcpy(place.data(), command.gradient, place.size_bytes());
  copied(place.size_bytes());
  return nullptr;
}

void worker::copied(std::uint64_t bytes) {
  identity_.numbers->payload_bytes_copied.fetch_add(bytes, std::memory_order_relaxed);
}

void worker::on_command(const worker_command_ptr& what) {
  auto& command = *what;
  if (!broken_.ok())
    return command.done->complete(
        {broken_.code(), describe(command, core_.worker().now()) + ": " + broken_.message()});
  if (command.kind == worker_command::what::open) return open(command);
  const auto op = ++last_operation_;
  const auto clock = core_.worker().now();
  const auto code = start(command, op);
  const auto doing = [&] { return describe(command, clock); };
  if (code == errc::not_found)
    return command.done->complete({code, doing() + ": this session did not open the table"});
  if (code != errc::ok)
    return command.done->complete(
        {code, doing() +
                   ": out of order. Within a clock a table takes its pulls one after another, "
                   "then one push, then clock(); nothing after finish()"});
  take_memory(command);
  if (command.kind == worker_command::what::pull) command.tables.push_back(command.table);
  operations_[op] = {what, clock};
  update_numbers();
  carry_out();
}

void worker::open(worker_command& command) {
  const auto id = command.grant.table;
  auto& table = tables_[id];
  table.name = command.grant.name;
  if (!table.memory) table.memory = command.memory;
  table.place = runtime::encode(table.memory->gradient_name());
  table.opened = std::move(command.done);
  core_.open(id, std::move(command.grant.places), [this](std::uint32_t shard) {
    return share_memory(home().address(), addresses_[shard]);
  });
}

void worker::opened(std::uint32_t table) {
  // Nothing moves in place while the session's thread is away.
  home().run_in_background(!core_.attached_everywhere());
  std::exchange(tables_.at(table).opened, nullptr)->complete({});
}

bool worker::map_parameters(std::uint32_t table, const policies::table_part& part,
                            std::span<const std::byte> place) {
  const auto name = runtime::decode_place(place);
  const auto planes = policies::planes_max(identity_.welcome.capacity);
  const auto moves = core_.worker().moves_of(part.shard);
  const auto mapped = name ? tables_.at(table).memory->attach(part, *name, planes, moves,
                                                              windows_[{part.shard, moves}])
                           : name.error();
  if (!mapped.ok())
    runtime::log::info("frames are used with shard " + std::to_string(part.shard) + ": " +
                       mapped.message());
  return mapped.ok();
}

runtime::buffer worker::place(const runtime::frame_header& header) {
  if (!broken_.ok() || !core_.expects(header)) return {};
  if (header.kind == frame_kind::attach_ack) {
    if (header.payload_bytes != runtime::place_wire_bytes) return {};
    return runtime::buffer::view(answers_[std::uint64_t{header.table} << 16 | header.shard]);
  }
  const auto& place = core_.worker().place_of(header.table, header.chunk);
  const auto& table = tables_.at(header.table);
  auto room =
      table.parameters
          ? std::as_writable_bytes(std::span(table.parameters + place.first, place.elements))
          : table.memory->room_for(place);
  if (room.empty()) return {};
  core_.begin_reply(header);
  return runtime::buffer::view(room);
}

void worker::on_frame(const frame_event& event) {
  if (!broken_.ok()) return;
  if (event.header.kind == frame_kind::pull_reply) copied(event.copied);
  core_.frame(event.header, event.payload.bytes());
  update_numbers();
  carry_out();
}

// Before those who wait for an operation go on and read them.
void worker::update_numbers() {
  auto& numbers = *identity_.numbers;
  const auto& core = core_.worker();
  numbers.staleness_max.store(core.staleness_max(), std::memory_order_relaxed);
  numbers.pushes_under_way.store(core.pushes_under_way(), std::memory_order_release);
  numbers.room_below.store(core.now() + (core.has_room() ? 1 : 0), std::memory_order_release);
}

// Where the pulled parameters are; into the user's memory with what is not there yet.
void worker::finish_pull(std::uint32_t id) {
  auto& table = tables_.at(id);
  const auto& core = core_.worker();
  table.memory->found(core.sources_of(id));
  forget_windows();
  if (!table.parameters) return;
  copied(table.memory->copy_mapped(core.sources_of(id), table.parameters));
  table.memory->reset();  // they are in the user's memory, and nowhere else
}

// Of processes that shards were before they moved, when nothing is read there any more.
void worker::forget_windows() {
  const auto& core = core_.worker();
  std::erase_if(windows_, [&](const auto& entry) {
    const auto [shard, moves] = entry.first;
    if (moves == core.moves_of(shard)) return false;
    return std::none_of(
        tables_.begin(), tables_.end(), [&, shard = shard, moves = moves](const auto& table) {
          return table.second.memory && table.second.memory->reads(shard, moves);
        });
  });
}

void worker::carry_out() {
  core_.carry_out();
  const auto failure = core_.worker().failure();
  if (failure != refusal::none)
    fail_all({errc::cancelled, "an earlier operation failed: a shard refused: " +
                                   std::string(to_string(failure))});
}

void worker::done(policies::operation op, refusal code) {
  const auto at = operations_.find(op);
  if (at == operations_.end()) return;
  const auto [command, clock] = std::move(at->second);
  operations_.erase(at);
  if (code != refusal::none)
    return command->done->complete(
        {errc::refused,
         describe(*command, clock) + ": a shard refused: " + std::string(to_string(code))});
  for (const auto table : command->tables) finish_pull(table);
  command->done->complete({});
}

void worker::send_place(std::uint32_t shard, const runtime::frame_header& header) {
  const auto& place = tables_.at(header.table).place;
  auto with_place = header;
  with_place.payload_bytes = place.size();
  home().link().post(shards_[shard], with_place, place, 0);
}

// Nobody asks when it is sent: a push is acknowledged only when applied, which is after that.
void worker::send_gradient(const policies::worker_effects::send& what,
                           const runtime::frame_header& header, std::uint64_t priority) {
  const auto& table = tables_.at(what.table);
  const auto* own = table.gradients[what.half];
  const auto* gradient = own ? own : table.memory->gradient(what.half).data();
  sender_.send(shards_[what.shard], header,
               std::as_bytes(std::span(gradient + what.first, what.elements)), priority);
}

// Before operations end that may not be over for the link: once one has ended, its memory is
// the user's again. Gradients that wait are not sent, and the link is closed by force, which
// ends payloads that are being received or sent; after that it asks for no more places.
void worker::let_go() {
  sender_.drop();
  home().close_link(0);
}

void worker::fail_all(const status& why) {
  if (broken_.ok()) broken_ = why;
  let_go();
  for (auto& [op, operation] : std::exchange(operations_, {}))
    operation.command->done->complete(
        {why.code(), describe(*operation.command, operation.clock) + ": " + why.message()});
  for (auto& [id, table] : tables_)
    if (auto opened = std::exchange(table.opened, nullptr))
      opened->complete({why.code(), "opening table '" + table.name + "': " + why.message()});
}

}  // namespace tidegate::actors
