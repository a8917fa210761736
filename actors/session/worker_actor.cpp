#include "actors/session/worker_actor.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "policies/model/kept_versions.hpp"

namespace tidegate::actors {

using policies::reply_code;
using runtime::errc;
using runtime::status;

worker::worker(caf::actor_config& config, reactor& home, worker_identity identity)
    : reactor_actor<worker_actor::base>(config, home),
      identity_(std::move(identity)),
      shell_(shells_home(), *this, *this, *identity_.state, identity_.welcome, identity_.rank,
             identity_.incarnation),
      devices_(*this, home) {}

worker::behavior_type worker::make_behavior() {
  sink_ = std::make_unique<frame_mailbox>(shell_, shells_home(), *this, home());
  home().open_link(sink_.get());
  shell_.start();
  monitor(identity_.watched);
  set_down_handler([this](const caf::down_msg&) {
    shell_.fail({errc::unavailable, "the coordinator is gone"});
  });
  if (shell_.shards_move()) ask_of_moves();
  return {
      [this](const worker_command_ptr& command) { on_command(command); },
      [this](look_atom) { shell_.look(); },
      [this](frame_event& event) { shell_.on_frame(event); },
      [this](const policies::shard_moved& moved) { on_shard_moved(moved); },
      [this](const peer_lost_event& event) { shell_.on_peer_lost(event); },
      [this](mirrored_atom, std::uint64_t request) { shell_.mirrored(request); },
  };
}

// Of this coordinator, and of the one after it.
void worker::ask_of_moves() {
  identity_.coordinator->tell([run = identity_.run, job = identity_.job, rank = identity_.rank,
                               incarnation = identity_.incarnation,
                               me = caf::actor_cast<caf::actor>(this)](const auto& there) {
    caf::anon_send(there, moves_atom::value, run, job, rank, incarnation, me);
  });
}

void worker::on_exit() {
  identity_.coordinator->tell(nullptr);
  // What is posted goes out, and the sink may be told of frames until then. After finish() no
  // gradient waits to be sent: all are acknowledged.
  home().close_link();
  sink_->close();
  shell_.fail({errc::cancelled, "the session was closed"});
}

std::string worker::describe(const worker_command& command, std::uint64_t clock) const {
  const auto at = " at clock " + std::to_string(clock);
  const auto table = tables_.find(command.table);
  const auto name = table == tables_.end() ? "?" : table->second.name;
  switch (command.kind) {
    case worker_command::action::open:
      return "opening table '" + command.grant.name + "'";
    case worker_command::action::push:
      return "push of table '" + name + "'" + at;
    case worker_command::action::pull:
    case worker_command::action::pull_rows:
      return "pull of table '" + name + "'" + at;
    case worker_command::action::prefetch_rows:
      return "prefetch of table '" + name + "'" + at;
    case worker_command::action::call:
      return "call of a function of table '" + name + "'" + at;
    case worker_command::action::clock:
      return "clock()" + at;
    case worker_command::action::room:
      return "waiting for credits" + at;
    case worker_command::action::exchange:
      return "exchange()" + at;
    case worker_command::action::finish:
      return "finish()" + at;
    case worker_command::action::keep_state:
      return "keeping state" + at;
    case worker_command::action::release:
      return "committing state" + at;
    case worker_command::action::use_device:
      return "using a device";
    case worker_command::action::copy_from_device:
    case worker_command::action::copy_to_device:
      return "a copy of device memory";
  }
  return {};
}

errc worker::start(worker_command& command, policies::operation op) {
  return shell_.begin([&](policies::worker_core& core, policies::worker_effects& out) {
    switch (command.kind) {
      case worker_command::action::open:
      case worker_command::action::use_device:
      case worker_command::action::copy_from_device:
      case worker_command::action::copy_to_device:
        break;  // done before
      case worker_command::action::push:
        return core.push(command.table, op, out, command.half, command.rate, command.chunks);
      case worker_command::action::pull:
        return core.pull(command.table, op, command.extent, out, command.chunks);
      case worker_command::action::call:
      case worker_command::action::pull_rows:
        return core.pull(command.table, op, command.extent, out, command.chunks,
                         policies::worker_core::answer_kind::results);
      case worker_command::action::prefetch_rows:
        return core.pull(command.table, op, command.extent, out, command.chunks,
                         policies::worker_core::answer_kind::results_ahead);
      case worker_command::action::clock:
        return core.clock(op, out);
      case worker_command::action::room:
        return core.room(op, out);
      case worker_command::action::exchange:
        return core.exchange(command.tables, op, out, command.half, command.rate);
      case worker_command::action::finish:
        return core.finish(op, out);
      case worker_command::action::keep_state:
        return core.keep_state(op, out);
      case worker_command::action::release:
        return core.release(op, out);
    }
    return errc::ok;
  });
}

// Where the memory of an operation that has begun is. The shards may write from now on where
// the parameters of the pull before lie.
void worker::take_memory(const worker_command& command, std::uint64_t clock) {
  // What is pushed of rows lies where the session has written it.
  if (command.kind == worker_command::action::push && !tables_.at(command.table).rows) {
    auto& table = tables_.at(command.table);
    table.pushed_at[command.half] = clock;
    const bool on_device = devices_.has(command.table);
    table.gradients[command.half] = on_device ? nullptr : take_gradient(table, command);
    table.memory->reset();
    if (command.chunks) write_ranges(command);
    if (on_device) devices_.tables()->reset(command.table);
  }
  if (command.kind == worker_command::action::pull) {
    auto& table = tables_.at(command.table);
    table.parameters = command.parameters;
    table.memory->reset();
    table.pulls_on_device = devices_.has(command.table) && !command.parameters &&
                            command.extent != policies::worker_core::extent::to_the_end;
    if (devices_.has(command.table)) devices_.tables()->reset(command.table);
  }
  if (command.kind == worker_command::action::call) {
    auto& table = tables_.at(command.table);
    table.function = command.function;
    table.results.resize(shell_.core().tables().at(command.table).places.size());
  }
  if (command.kind != worker_command::action::exchange) return;
  for (const auto id : command.tables) {
    auto& table = tables_.at(id);
    table.gradients[command.half] = nullptr;
    table.pushed_at[command.half] = clock;
    table.parameters = nullptr;
    table.memory->reset();
    table.pulls_on_device = devices_.has(id);
    if (table.pulls_on_device) devices_.tables()->reset(id);
  }
}

void worker::copied(std::uint64_t bytes) {
  identity_.numbers->payload_bytes_copied.fetch_add(bytes, std::memory_order_relaxed);
}

void worker::refuse(const worker_command_ptr& item, const status& why) {
  item->done->complete(
      {why.code(), describe(*item, shell_.core().now()) + ": " + why.message()});
}

void worker::on_command(const worker_command_ptr& item) {
  auto& command = *item;
  if (!shell_.broken().ok()) return refuse(item, shell_.broken());
  if (command.kind == worker_command::action::use_device) return use_device(command);
  if (command.addresses) return open_on_device(item);
  if (devices_.tables() == nullptr || command.kind == worker_command::action::open)
    return begin(item);
  devices_.hold(item, command.checks);
}

void worker::open_on_device(const worker_command_ptr& item) {
  const auto& grant = item->grant;
  const auto added = devices_.tables()->add_table(grant.table, grant.places, item->addresses);
  if (!added) return refuse(item, added.error());
  devices_.hold([mark = *added] { return std::vector{mark}; },
                [this, item](const status& outcome) {
                  outcome.ok() ? open(*item) : refuse(item, outcome);
                });
}

void worker::use_device(worker_command& command) {
  status outcome;
  if (command.devices)
    devices_.use(std::move(command.devices));
  else
    outcome = devices_.set_stream(command.stream);
  command.done->complete(outcome);
}

bool worker::may_push(std::uint32_t table) const {
  const auto& core = shell_.core();
  const auto& known = core.tables().at(table);
  return core.has_room() && !known.is_pulling() && known.pushed_below <= core.now();
}

void worker::begin(const worker_command_ptr& item) {
  auto& command = *item;
  if (command.kind == worker_command::action::open) return open(command);
  const auto op = ++last_operation_;
  const auto clock = shell_.core().now();
  const auto code = start(command, op);
  const auto doing = [&] { return describe(command, clock); };
  if (code == errc::not_found)
    return command.done->complete({code, doing() + ": this session did not open the table"});
  if (code != errc::ok) return command.done->complete({code, doing() + out_of_order_text});
  take_memory(command, clock);
  if (command.kind == worker_command::action::pull) command.tables.push_back(command.table);
  operations_[op] = {item, clock};
  update_numbers();
  shell_.carry_out();
}

void worker::open(worker_command& command) {
  const auto id = command.grant.table;
  auto& table = tables_[id];
  table.name = command.grant.name;
  if (!table.memory) table.memory = command.memory;
  if (!table.rows) table.rows = command.rows;
  table.opened = std::move(command.done);
  shell_.open(id, std::move(command.grant.places), table.rows != nullptr);
}

void worker::opened(std::uint32_t table) {
  std::exchange(tables_.at(table).opened, nullptr)->complete({});
}

runtime::place_wire worker::place_of_gradients(std::uint32_t table) const {
  return runtime::encode(tables_.at(table).memory->gradient_name());
}

sent_payload worker::payload_of(const policies::worker_effects::send& send,
                                std::optional<std::uint32_t> moves) {
  auto& table = tables_.at(send.table);
  if (table.rows) return payload_of_send(*table.rows, shell_.core(), send, moves);
  if (send.kind == policies::worker_effects::send_kind::call) return {.bytes = table.function};
  const auto* const own = table.gradients[send.half];
  const auto* const gradient = own ? own : table.memory->gradient(send.half).data();
  return {.bytes = std::as_bytes(std::span(gradient + send.first, send.elements))};
}

std::optional<policies::sent_list> worker::list_of(const policies::worker_effects::send& send,
                                                   bool is_here) {
  const auto& rows = tables_.at(send.table).rows;
  if (!rows) return std::nullopt;
  return list_of_send(*rows, shell_.core(), send, is_here);
}

std::span<std::byte> worker::room_for_results(const policies::chunk_place& chunk,
                                              std::uint32_t id, std::uint64_t bytes) {
  auto& table = tables_.at(id);
  if (table.rows) return table.rows->room(kind_of_pull(shell_.core(), id), chunk.chunk, bytes);
  if (bytes != runtime::call_payload_bytes) return {};
  return table.results[chunk.chunk];
}

std::span<std::byte> worker::room_for(const policies::chunk_place& chunk, std::uint32_t id) {
  const auto& table = tables_.at(id);
  if (!table.parameters) return table.memory->room_for(chunk);
  return std::as_writable_bytes(std::span(table.parameters + chunk.first, chunk.elements));
}

status worker::map_parameters(std::uint32_t table, const policies::table_part& part,
                              std::uint32_t moves, std::span<const std::byte> place) {
  const auto name = runtime::decode_place(place);
  if (!name) return name.error();
  const auto version_buffers = policies::version_buffers_max(identity_.welcome.capacity);
  auto mapped = tables_.at(table).memory->attach(part, *name, version_buffers, moves,
                                                 windows_[{part.shard, moves}]);
  if (mapped.ok()) share_gradients(table);
  return mapped;
}

// Before those who wait for an operation go on and read them.
void worker::update_numbers() {
  auto& numbers = *identity_.numbers;
  const auto& core = shell_.core();
  const auto& staleness = core.staleness();
  numbers.staleness_max.store(staleness.max, std::memory_order_relaxed);
  // Those above the largest are 0.
  for (std::size_t range = 0; range <= policies::staleness_range_of(staleness.max); ++range)
    numbers.staleness[range].store(staleness.counts[range], std::memory_order_relaxed);
  constexpr std::uint64_t largest = runtime::unknown_staleness - 1;
  if (staleness.latest)
    numbers.staleness_latest.store(
        static_cast<std::uint16_t>(std::min(*staleness.latest, largest)),
        std::memory_order_relaxed);
  numbers.pushes_under_way.store(core.pushes_under_way(), std::memory_order_release);
  numbers.room_below.store(core.now() + (core.has_room() ? 1 : 0), std::memory_order_release);
}

// Where the pulled parameters are; into the user's memory with what is not there yet.
status worker::finish_pull(std::uint32_t id, std::vector<device_tables::mark>& after) {
  auto& table = tables_.at(id);
  const auto sources = shell_.core().tables().sources_of(id);
  table.memory->found(sources);
  forget_windows();
  if (table.pulls_on_device) {
    host_parts_.clear();
    for (const auto& source : sources)
      host_parts_.push_back(source.on_device
                                ? nullptr
                                : table.memory->at(host_parts_.size(), source.version_buffer));
    const auto found = devices_.tables()->find(id, sources, host_parts_);
    if (!found) return found.error();
    after.push_back(*found);
    return {};
  }
  if (!table.parameters) return {};
  copied(table.memory->copy_mapped(sources, table.parameters));
  table.memory->reset();  // they are in the user's memory, and nowhere else
  return {};
}

// To the user's memory, where they stay.
void worker::copy_ranges(const worker_command& pull) {
  auto& memory = *tables_.at(pull.table).memory;
  copied(memory.copy_ranges(pull.ranges, pull.packed_parameters));
  memory.reset();
}

// Of processes that shards were before they moved, when nothing is read there any more.
void worker::forget_windows() {
  const auto& core = shell_.core();
  std::erase_if(windows_, [&](const auto& entry) {
    const auto [shard, moves] = entry.first;
    if (moves == core.tables().moves_of(shard)) return false;
    return std::none_of(
        tables_.begin(), tables_.end(), [&, shard = shard, moves = moves](const auto& table) {
          return table.second.memory && table.second.memory->reads(shard, moves);
        });
  });
}

void worker::done(policies::operation op, reply_code code) {
  const auto at = operations_.find(op);
  if (at == operations_.end()) return;
  const auto [command, clock] = std::move(at->second);
  operations_.erase(at);
  if (code != reply_code::ok)
    return command->done->complete(
        {errc::refused,
         describe(*command, clock) + ": a shard refused: " + std::string(to_string(code))});
  std::vector<device_tables::mark> after;
  status found;
  for (const auto table : command->tables)
    if (found.ok()) found = finish_pull(table, after);
  if (!found.ok()) return refuse(command, found);
  if (command->packed_parameters) copy_ranges(*command);
  if (!command->row_values.empty()) {
    const auto& table = tables_.at(command->table);
    auto [unread, unmapped] = table.rows->scatter(command->row_values);
    if (!unmapped.ok())
      shell_.note("rows of table '" + table.name + "' come in frames: " + unmapped.message());
    if (!unread.empty()) {
      command->chunks = std::move(unread);
      return begin(command);
    }
  }
  if (command->kind == worker_command::action::call)
    if (!runtime::combine_all(tables_.at(command->table).results, *command->results))
      return refuse(command, {errc::corrupt, "chunks have results that do not go together"});
  if (!after.empty()) return devices_.complete(command, std::move(after));
  command->done->complete({});
}

void worker::failed(const status& why) {
  for (auto& [op, operation] : std::exchange(operations_, {}))
    operation.command->done->complete(
        {why.code(), describe(*operation.command, operation.clock) + ": " + why.message()});
  for (auto& [id, table] : tables_)
    if (auto opened = std::exchange(table.opened, nullptr))
      opened->complete({why.code(), "opening table '" + table.name + "': " + why.message()});
  devices_.close(why);
}

}  // namespace tidegate::actors
