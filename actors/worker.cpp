#include "actors/worker.hpp"

#include <span>
#include <utility>

#include "runtime/base/log.hpp"

namespace tidegate::actors {

using policies::refusal;
using runtime::errc;
using runtime::frame_kind;
using runtime::status;

worker::worker(caf::actor_config& config, reactor& home, worker_identity identity)
    : reactor_actor<worker_actor::base>(config, home),
      identity_(std::move(identity)),
      core_(static_cast<std::uint32_t>(identity_.welcome.shard_addresses.size())) {}

worker::behavior_type worker::make_behavior() {
  sink_ = std::make_unique<frame_mailbox>(*this, *this, home());
  home().open_link(sink_.get());
  for (const auto& address : identity_.welcome.shard_addresses) {
    auto connected = home().link().connect(address);
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
      [this](worker_command_ptr& command) { on_command(*command); },
      [this](frame_event& event) { on_frame(event); },
      [this](const peer_lost_event& event) {
        fail_all({errc::unavailable, "lost the connection to shard " +
                                         std::to_string(event.peer) + ": " + event.why});
      },
  };
}

void worker::on_exit() {
  home().close_link();  // what is posted goes out
  fail_all({errc::cancelled, "the session was closed"});
}

std::string worker::describe(const worker_command& command) const {
  const auto at = " at clock " + std::to_string(core_.now());
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
    case worker_command::what::finish:
      return "finish()" + at;
  }
  return {};
}

errc worker::start(worker_command& command, policies::operation op) {
  switch (command.kind) {
    case worker_command::what::open:
      break;  // done in on_command
    case worker_command::what::push:
      if (auto at = tables_.find(command.table); at != tables_.end())
        at->second.gradient = command.gradient;
      return core_.push(command.table, op, effects_);
    case worker_command::what::pull: {
      const auto code = core_.pull(command.table, op, command.extent, effects_);
      if (code == errc::ok) tables_.at(command.table).parameters = command.parameters;
      return code;
    }
    case worker_command::what::clock:
      return core_.clock(op, effects_);
    case worker_command::what::finish:
      return core_.finish(op, effects_);
  }
  return errc::ok;
}

void worker::on_command(worker_command& command) {
  if (!broken_.ok()) return command.done->complete(broken_);
  if (command.kind == worker_command::what::open) {
    tables_[command.grant.table].name = command.grant.name;
    core_.add_table(command.grant.table, std::move(command.grant.places));
    return command.done->complete({});
  }
  const auto op = ++last_operation_;
  auto doing = describe(command);
  effects_.clear();
  const auto code = start(command, op);
  if (code == errc::not_found)
    return command.done->complete({code, doing + ": this session did not open the table"});
  if (code == errc::cancelled)
    return command.done->complete(
        {code, doing + ": an earlier operation failed: a shard refused: " +
                   std::string(to_string(core_.failure()))});
  if (code != errc::ok)
    return command.done->complete(
        {code, doing +
                   ": out of order. Within a clock a table takes its pulls one after another, "
                   "then one push, then clock(); nothing after finish()"});
  operations_[op] = {std::move(doing), std::move(command.done)};
  carry_out();
}

runtime::buffer worker::place(const runtime::frame_header& header) {
  if (!broken_.ok()) return {};
  const bool mine = header.job == identity_.welcome.token &&
                    header.incarnation == identity_.incarnation &&
                    header.kind == frame_kind::pull_reply;
  if (!mine || !core_.expects_reply(header.table, header.chunk, header.clock)) return {};
  const auto& place = core_.place_of(header.table, header.chunk);
  if (header.payload_bytes != place.elements * sizeof(float)) return {};
  float* target = tables_.at(header.table).parameters + place.first;
  return runtime::buffer::view(std::as_writable_bytes(std::span(target, place.elements)));
}

void worker::on_frame(const frame_event& event) {
  if (!broken_.ok()) return;
  const auto& header = event.header;
  if (header.job != identity_.welcome.token || header.incarnation != identity_.incarnation)
    return;
  const auto code = static_cast<refusal>(header.code);
  effects_.clear();
  if (header.kind == frame_kind::push_ack && header.chunk == runtime::whole_job) {
    core_.on_finish_ack(header.table, code, effects_);
  } else if (header.kind == frame_kind::push_ack) {
    core_.on_ack(header.table, header.chunk, header.clock, code, effects_);
  } else if (header.kind == frame_kind::pull_reply) {
    core_.on_reply(header.table, header.chunk, header.clock, header.min_clock, code, effects_);
    identity_.numbers->staleness_max.store(core_.staleness_max(), std::memory_order_relaxed);
  }
  carry_out();
}

void worker::carry_out() {
  for (const auto& what : effects_.sends) send(what);
  for (const auto& ended : effects_.dones) {
    auto at = operations_.find(ended.op);
    if (at == operations_.end()) continue;
    auto operation = std::move(at->second);
    operations_.erase(at);
    operation.done->complete(
        ended.code == refusal::none
            ? status()
            : status(errc::refused, operation.doing + ": a shard refused: " +
                                        std::string(to_string(ended.code))));
  }
}

void worker::send(const policies::worker_effects::send& what) {
  using kind = policies::worker_effects::send_kind;
  runtime::frame_header header;
  header.job = identity_.welcome.token;
  header.epoch = identity_.welcome.epoch;
  header.incarnation = identity_.incarnation;
  header.worker = identity_.rank;
  header.table = what.table;
  header.chunk = what.chunk;
  header.clock = what.clock;
  std::span<const std::byte> payload;
  switch (what.kind) {
    case kind::push:
      header.kind = frame_kind::push;
      payload =
          std::as_bytes(std::span(tables_.at(what.table).gradient + what.first, what.elements));
      break;
    case kind::skip:
      header.kind = frame_kind::skip;
      break;
    case kind::pull:
      header.kind = frame_kind::pull;
      if (what.everything) header.flags = runtime::frame_flag_final;
      break;
    case kind::finished:
      header.kind = frame_kind::finished;
      header.table = what.shard;  // comes back in the acknowledgement
      header.chunk = runtime::whole_job;
      break;
  }
  header.payload_bytes = payload.size();
  // Token 0: a push is acknowledged only when applied, which is after it was sent.
  home().link().post(shards_[what.shard], header, payload, 0);
}

void worker::fail_all(const status& why) {
  if (broken_.ok()) broken_ = why;
  // First the link, by force: once an operation has ended, its memory is the user's again, and
  // nothing may read or write it any more.
  home().close_link(0);
  for (auto& [op, operation] : std::exchange(operations_, {}))
    operation.done->complete({why.code(), operation.doing + ": " + why.message()});
}

}  // namespace tidegate::actors
