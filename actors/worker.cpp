#include "actors/worker.hpp"

#include <cstring>
#include <span>
#include <utility>

#include "actors/peer_address.hpp"
#include "policies/frame_tags.hpp"
#include "runtime/base/log.hpp"

namespace tidegate::actors {

using policies::refusal;
using runtime::errc;
using runtime::frame_kind;
using runtime::status;

worker::worker(caf::actor_config& config, reactor& home, worker_identity identity)
    : reactor_actor<worker_actor::base>(config, home),
      identity_(std::move(identity)),
      sender_(home),
      core_(static_cast<std::uint32_t>(identity_.welcome.shard_addresses.size())) {}

worker::behavior_type worker::make_behavior() {
  sink_ = std::make_unique<frame_mailbox>(*this, *this, home());
  home().open_link(sink_.get());
  for (const auto& address : identity_.welcome.shard_addresses) {
    auto connected =
        home().link().connect(link_of(address), reach_of(home().address(), address));
    if (!connected) {
      broken_ = connected.error();
      break;
    }
    shards_.push_back(*connected);
  }
  monitor(identity_.coordinator);
  set_down_handler([this](const caf::down_msg&) {
    fail_all({errc::unavailable, "the coordinator is gone"});
  });
  return {
      [this](const worker_command_ptr& command) { on_command(command); },
      [this](frame_event& event) { on_frame(event); },
      [this](const peer_lost_event& event) {
        fail_all({errc::unavailable, "lost the connection to shard " +
                                         std::to_string(event.peer) + ": " + event.why});
      },
  };
}

void worker::on_exit() {
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
    case worker_command::what::exchange:
      return "exchange()" + at;
    case worker_command::what::finish:
      return "finish()" + at;
  }
  return {};
}

errc worker::start(worker_command& command, policies::operation op) {
  switch (command.kind) {
    case worker_command::what::open:
      break;  // done in on_command
    case worker_command::what::push: {
      const auto code = core_.push(command.table, op, effects_, command.half);
      if (code == errc::ok) take_gradient(tables_.at(command.table), command);
      return code;
    }
    case worker_command::what::pull: {
      const auto code = core_.pull(command.table, op, command.extent, effects_);
      if (code == errc::ok) tables_.at(command.table).parameters = command.parameters;
      return code;
    }
    case worker_command::what::clock:
      return core_.clock(op, effects_);
    case worker_command::what::exchange: {
      for (const auto id : command.tables)
        if (auto at = tables_.find(id); at != tables_.end()) {
          at->second.gradient = nullptr;
          at->second.parameters = nullptr;
        }
      return core_.exchange(command.tables, op, effects_, command.half);
    }
    case worker_command::what::finish:
      return core_.finish(op, effects_);
  }
  return errc::ok;
}

// Shards read gradients in place; those of a user's own memory are copied there first. Without
// such a shard they are sent from where they are.
void worker::take_gradient(table_state& table, const worker_command& command) {
  table.gradient = command.gradient;
  if (!command.gradient || !table.memory->has_windows()) return;
  const auto place = table.memory->gradient(command.half);
  std::memcpy(place.data(), command.gradient, place.size_bytes());
  count_copied(place.size_bytes());
  table.gradient = nullptr;
}

void worker::count_copied(std::uint64_t bytes) {
  identity_.numbers->payload_bytes_copied.fetch_add(bytes, std::memory_order_relaxed);
}

void worker::on_command(const worker_command_ptr& what) {
  auto& command = *what;
  if (!broken_.ok())
    return command.done->complete(
        {broken_.code(), describe(command, core_.now()) + ": " + broken_.message()});
  if (command.kind == worker_command::what::open) return open(command);
  const auto op = ++last_operation_;
  const auto clock = core_.now();
  effects_.clear();
  const auto code = start(command, op);
  const auto doing = [&] { return describe(command, clock); };
  if (code == errc::not_found)
    return command.done->complete({code, doing() + ": this session did not open the table"});
  if (code != errc::ok)
    return command.done->complete(
        {code, doing() +
                   ": out of order. Within a clock a table takes its pulls one after another, "
                   "then one push, then clock(); nothing after finish()"});
  if (command.kind == worker_command::what::pull) command.tables.push_back(command.table);
  operations_[op] = {what, clock};
  update_numbers();
  carry_out();
}

// The table is open when every shard that shares our memory has looked at it.
void worker::open(worker_command& command) {
  const auto id = command.grant.table;
  const auto opened_before = tables_.size();
  const auto [at, fresh] = tables_.try_emplace(id);
  auto& table = at->second;
  if (fresh) table.opened_as = opened_before;
  table.name = command.grant.name;
  if (!table.memory) table.memory = command.memory;
  core_.add_table(id, std::move(command.grant.places));
  table.place = runtime::encode(table.memory->gradient_name());
  table.opened = std::move(command.done);
  for (const auto& part : core_.parts_of(id)) {
    if (part.attached) continue;
    if (!share_memory(home().address(), identity_.welcome.shard_addresses[part.shard])) {
      all_attached_ = false;
      continue;
    }
    ++table.attaching;
    auto header = header_for(runtime::frame_kind::attach, id);
    header.payload_bytes = table.place.size();
    home().link().post(shards_[part.shard], header, table.place, 0);
  }
  home().run_in_background(!all_attached_);
  if (table.attaching == 0) std::exchange(table.opened, nullptr)->complete({});
}

void worker::on_attached(const frame_event& event) {
  const auto& header = event.header;
  const auto at = tables_.find(header.table);
  if (at == tables_.end() || at->second.attaching == 0) return;
  auto& table = at->second;
  bool attached = false;
  for (const auto& part : core_.parts_of(header.table)) {
    if (part.shard != header.shard || header.code != 0) continue;
    const auto name = runtime::decode_place(event.payload.bytes());
    const auto planes = policies::planes_max(identity_.welcome.workers);
    const auto mapped =
        name ? table.memory->attach(part, *name, planes, windows_) : name.error();
    attached = mapped.ok();
    if (!attached)
      runtime::log::info("frames are used with shard " + std::to_string(part.shard) + ": " +
                         mapped.message());
  }
  if (attached) core_.attach(header.table, header.shard);
  all_attached_ = all_attached_ && attached;
  home().run_in_background(!all_attached_);
  if (--table.attaching == 0) std::exchange(table.opened, nullptr)->complete({});
}

runtime::buffer worker::place(const runtime::frame_header& header) {
  if (!broken_.ok()) return {};
  const bool mine =
      header.job == identity_.welcome.token && header.incarnation == identity_.incarnation;
  if (mine && header.kind == frame_kind::attach_ack) {
    const bool fits = header.payload_bytes == runtime::place_wire_bytes &&
                      tables_.contains(header.table) && header.shard < shards_.size();
    if (!fits) return {};
    auto& room = answers_[std::uint64_t{header.table} << 16 | header.shard];
    return runtime::buffer::view(room);
  }
  if (!mine || header.kind != frame_kind::pull_reply ||
      !core_.expects_reply(header.table, header.chunk, header.request))
    return {};
  const auto& place = core_.place_of(header.table, header.chunk);
  if (header.payload_bytes != place.elements * sizeof(float)) return {};
  const auto& table = tables_.at(header.table);
  auto room =
      table.parameters
          ? std::as_writable_bytes(std::span(table.parameters + place.first, place.elements))
          : table.memory->room_for(place);
  if (room.empty()) return {};
  core_.begin_reply(header.table, header.chunk);
  return runtime::buffer::view(room);
}

void worker::on_frame(const frame_event& event) {
  if (!broken_.ok()) return;
  const auto& header = event.header;
  if (header.job != identity_.welcome.token || header.incarnation != identity_.incarnation)
    return;
  const auto code = static_cast<refusal>(header.code);
  effects_.clear();
  if (header.kind == frame_kind::push_ack && header.chunk == runtime::whole_job) {
    count_copied(header.version);
    core_.on_finish_ack(header.shard, code, effects_);
  } else if (header.kind == frame_kind::push_ack) {
    core_.on_ack(header.table, header.chunk, header.clock, code, effects_);
  } else if (header.kind == frame_kind::pull_reply) {
    count_copied(event.copied);
    if ((header.flags & runtime::frame_flag_applied) != 0)
      core_.on_ack(header.table, header.chunk, header.clock - 1, refusal::none, effects_);
    core_.on_reply(header.table, header.chunk, {header.request, code, header.min_clock, 0},
                   effects_);
  } else if (header.kind == frame_kind::attach_ack) {
    on_attached(event);
  } else {
    on_ring(header);
  }
  update_numbers();
  carry_out();
}

// Before those who wait for an operation go on and read them.
void worker::update_numbers() {
  auto& numbers = *identity_.numbers;
  numbers.staleness_max.store(core_.staleness_max(), std::memory_order_relaxed);
  numbers.pushes_under_way.store(core_.pushes_under_way(), std::memory_order_release);
}

void worker::on_ring(const runtime::frame_header& header) {
  const auto code = static_cast<refusal>(header.code);
  const policies::worker_core::chunk_run where{header.table, header.shard, header.chunk,
                                               header.count};
  if (header.kind == frame_kind::ring_ack)
    return core_.on_ring_ack(where, header.clock, code, effects_);
  if (header.kind != frame_kind::ring_reply) return;
  if (header.plane >= policies::planes_max(identity_.welcome.workers)) return;
  if ((header.flags & runtime::frame_flag_applied) != 0)
    core_.on_ring_ack(where, header.clock - 1, refusal::none, effects_);
  core_.on_ring_reply(where, {header.request, code, header.min_clock, header.plane}, effects_);
}

// Where the pulled parameters are; into the user's memory with what is not there yet.
void worker::finish_pull(std::uint32_t id) {
  auto& table = tables_.at(id);
  table.memory->found(core_.planes_of(id));
  if (!table.parameters) return;
  std::uint64_t copied = 0;
  for (const auto& part : core_.parts_of(id))
    if (part.attached)
      copied += table.memory->copy_part(part, core_.planes_of(id), table.parameters);
  count_copied(copied);
}

void worker::carry_out() {
  const auto failure = core_.failure();
  if (failure != refusal::none) let_go();
  for (const auto& what : effects_.sends) send(what);
  for (const auto& ended : effects_.dones) {
    auto at = operations_.find(ended.op);
    if (at == operations_.end()) continue;
    const auto [command, clock] = std::move(at->second);
    operations_.erase(at);
    if (ended.code == refusal::none) {
      for (const auto table : command->tables) finish_pull(table);
      command->done->complete({});
      continue;
    }
    command->done->complete({errc::refused, describe(*command, clock) + ": a shard refused: " +
                                                std::string(to_string(ended.code))});
  }
  if (failure != refusal::none)
    fail_all({errc::cancelled, "an earlier operation failed: a shard refused: " +
                                   std::string(to_string(failure))});
}

runtime::frame_header worker::header_for(frame_kind kind, std::uint32_t table) const {
  runtime::frame_header header;
  header.kind = kind;
  header.job = identity_.welcome.token;
  header.epoch = identity_.welcome.epoch;
  header.incarnation = identity_.incarnation;
  header.worker = identity_.rank;
  header.table = table;
  return header;
}

void worker::send(const policies::worker_effects::send& what) {
  using kind = policies::worker_effects::send_kind;
  auto header = header_for(frame_kind::push, what.table);
  header.chunk = what.chunk;
  header.clock = what.clock;
  header.request = what.request;
  const auto flag = [&](bool set, std::uint16_t bit) {
    if (set) header.flags = static_cast<std::uint16_t>(header.flags | bit);
  };
  switch (what.kind) {
    case kind::push: {
      const auto& table = tables_.at(what.table);
      const auto* gradient =
          table.gradient ? table.gradient : table.memory->gradient(what.half).data();
      const auto payload = std::as_bytes(std::span(gradient + what.first, what.elements));
      header.payload_bytes = payload.size();
      flag(what.pulls, runtime::frame_flag_pull);
      // What is opened first is used first: early layers, which the next clock waits for.
      // Nobody asks when it is sent: a push is acknowledged only when applied, which is after
      // that.
      return sender_.send(shards_[what.shard], header, payload,
                          policies::use_order(what.clock, table.opened_as));
    }
    case kind::skip:
      header.kind = frame_kind::skip;
      flag(what.pulls, runtime::frame_flag_pull);
      break;
    case kind::pull:
      header.kind = frame_kind::pull;
      flag(what.everything, runtime::frame_flag_final);
      break;
    case kind::ring:
      header.kind = frame_kind::ring;
      header.plane = static_cast<std::uint16_t>(what.half);
      flag(what.everything, runtime::frame_flag_final);
      flag(what.pushes, runtime::frame_flag_push);
      flag(what.skips, runtime::frame_flag_skip);
      flag(what.pulls, runtime::frame_flag_pull);
      break;
    case kind::finished:
      header.kind = frame_kind::finished;
      header.chunk = runtime::whole_job;
      break;
  }
  sender_.send(shards_[what.shard], header);
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
