// The session of a simulated worker. Its program is in worker_program.cpp.
#include "tests/sim/worker.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "policies/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "tests/sim/coordinator.hpp"
#include "tests/sim/front.hpp"
#include "tests/sim/launcher.hpp"

namespace tidegate::sim {

using policies::refusal;
using runtime::frame_kind;
using what = policies::session_step::what;

namespace {

constexpr std::uint32_t patience_ms = 30'000;

}  // namespace

worker::worker(world& where, process_id id, std::uint32_t host, std::size_t job,
               std::uint32_t rank, std::uint32_t incarnation)
    : process(where, id, role::worker,
              "worker-" + where.plan.spec.jobs[job].name + "-" + std::to_string(rank), host),
      spec_(where.plan.spec.jobs[job]),
      script_(where.plan.scripts[job]),
      rank_(rank),
      incarnation_(incarnation),
      sender_(where, id) {}

void worker::start() {
  carry_out(session_.join({spec_.name, rank_, incarnation_, address()}),
            [this](const policies::session_step& joined) {
              const auto code = joined.result.code();
              // One that is not wanted any more, of which its launcher may not have heard.
              if (code == runtime::errc::refused || code == runtime::errc::cancelled) {
                ended_ = true;
                ++world_.killed[name()];
                note("cannot join: " + joined.result.to_string());
                return launcher::of(world_).exits(id(), false);
              }
              if (!joined.result.ok()) return give_up("joining: " + joined.result.to_string());
              client_ = std::make_unique<policies::client_core>(*this, session_.welcome(),
                                                                rank_, incarnation_);
              clock_ = session_.welcome().first_clock;
              session_.clock_asked();
              client_->set_patience(world_.plan.set.patience);
              ask_of_moves();
              open_tables(0);
            });
}

// Steps of an operation, to its end.
void worker::carry_out(policies::session_step step,
                       std::function<void(policies::session_step)> then) {
  if (step.kind == what::done) return then(std::move(step));
  perform(step, [this, then = std::move(then)](answer got) {
    policies::session_answer value;
    if (auto* welcome = std::get_if<policies::worker_welcome>(&got.value)) value = *welcome;
    if (auto* grant = std::get_if<policies::table_grant>(&got.value)) value = *grant;
    if (auto* all = std::get_if<std::vector<policies::table_grant>>(&got.value)) value = *all;
    carry_out(session_.next(std::move(got.result), std::move(value)), then);
  });
}

void worker::ask_coordinator(question at, answer_to back) {
  ask_coordinator(at, back, policies::ask_again(local_now(), patience_ms));
}

void worker::ask_coordinator(const question& at, const answer_to& back,
                             policies::ask_again again) {
  process::ask<coordinator_process>(
      world_.coordinator, at, [this, at, back, again](answer got) mutable {
        const auto pause = again.after(local_now(), got.result);
        if (!pause) return back(std::move(got));
        later(*pause, [this, at, back, again] { ask_coordinator(at, back, again); });
      });
}

void worker::perform(const policies::session_step& step, answer_to back) {
  const auto to_coordinator = [&](question at) {
    ask_coordinator(std::move(at), std::move(back));
  };
  const auto job = spec_.name;
  const auto rank = rank_;
  switch (step.kind) {
    case what::ask_welcome:
      return to_coordinator([hello = session_.hello(), me = id()](auto& to, answer_to reply) {
        to.worker_joined(hello, me, std::move(reply));
      });
    case what::ask_grant:
      return to_coordinator([request = step.request](auto& to, answer_to reply) {
        to.open_table(request, std::move(reply));
      });
    case what::tell_opened:
      return to_coordinator([job, rank, tables = step.tables](auto& to, answer_to reply) {
        to.tables_opened(job, rank, tables, reply);
      });
    case what::tell_finished:
      return to_coordinator(
          [job, rank, clock = clock_, hashed = step.hashed](auto& to, answer_to reply) {
            policies::worker_progress last;
            last.clock = clock;
            to.finished(job, rank, last, hashed ? "digest" : "", reply);
          });
    case what::tell_failed:
      return to_coordinator(
          [job, why = step.why](auto& to, answer_to reply) { to.fail_job(job, why, reply); });
    case what::attach:
      return attach(step.grant, std::move(back));
    case what::farewell:
      return begin(
          [](auto& core, auto op, auto& out) { return core.finish(op, out); },
          [back = std::move(back)](refusal code) {
            back({code == refusal::none
                      ? runtime::status()
                      : runtime::status(runtime::errc::refused, std::string(to_string(code))),
                  {}});
          });
    case what::pull_to_end:
      return pull_to_end(step.grant.table, std::move(back));
    case what::hash:
      read(~std::uint64_t{0}, true, step.grant.table);
      return back({});
    case what::done:
      break;
  }
}

void worker::attach(const policies::table_grant& grant, answer_to back) {
  auto& table = tables_[grant.table];
  if (table.halves.empty()) {
    table.grant = grant;
    for (std::uint32_t i = 0; i < policies::gradient_halves; ++i)
      table.halves.push_back(std::make_shared<std::vector<float>>(grant.elements));
    table.room = std::make_shared<std::vector<float>>(grant.elements);
    table.sources.resize(grant.places.size());
  }
  opening_[grant.table] = std::move(back);
  auto places = grant.places;
  if (session_.welcome().aggregated)
    for (auto& place : places) place.shard = 0;
  client_->open(grant.table, std::move(places),
                [&](std::uint32_t shard) { return shares_memory_with(address_of(shard)); });
  tick();
}

void worker::opened(std::uint32_t table) {
  const auto back = std::exchange(opening_[table], nullptr);
  if (back) later(0, [back] { back({}); });  // out of the core's call
}

void worker::pull_to_end(std::uint32_t table, answer_to back) {
  begin(
      [table](auto& core, auto op, auto& out) {
        return core.pull(table, op, policies::worker_core::extent::to_the_end, out);
      },
      [back = std::move(back)](refusal code) {
        back({code == refusal::none
                  ? runtime::status()
                  : runtime::status(runtime::errc::refused, std::string(to_string(code))),
              {}});
      });
}

void worker::begin(const start_of& start, callback then) {
  const auto op = ++last_operation_;
  const auto code = client_->begin([&](auto& core, auto& out) { return start(core, op, out); });
  if (code != runtime::errc::ok) {
    then(refusal::job_ended);
    return;
  }
  operations_[op] = std::move(then);
  client_->carry_out();
  tick();
}

void worker::done(policies::operation op, refusal code) {
  const auto at = operations_.find(op);
  if (at == operations_.end())
    return world_.check.fail("one end", name() + ": an operation ends twice");
  auto then = std::move(at->second);
  operations_.erase(at);
  if (code == refusal::none) spoil_pushed(op);
  later(0, [then = std::move(then), code] { then(code); });
}

// As long as something waits for its answer.
void worker::tick() {
  if (ticking_ || !world_.loses_frames() || !client_ || !client_->is_busy()) return;
  ticking_ = true;
  later(world_.plan.set.look, [this] {
    ticking_ = false;
    if (ended_) return;
    if (sender_.waiting() == 0) {
      client_->tick(local_now());
      client_->carry_out();
    }
    tick();
  });
}

std::uint32_t worker::half() {
  return half_.at(clock_, client_->worker().pushes_under_way() > 0);
}

std::string worker::address_of(std::uint32_t shard) const {
  const auto moved = moves_.find(shard);
  const auto& welcome = session_.welcome();
  if (moved != moves_.end() && moved->second.epoch > welcome.shard_epochs[shard])
    return moved->second.address;
  return welcome.shard_addresses[shard];
}

void worker::shard_moved(const policies::shard_moved& what) {
  if (!client_ || let_go_) return;
  const auto before = address_of(what.shard);
  auto& known = moves_[what.shard];
  if (what.epoch > known.epoch) known = what;
  if (address_of(what.shard) != before) {
    fence(id_of(before));
    world_.net.disconnect(id(), id_of(before));
  }
  const auto shares = [this](std::uint32_t of) { return shares_memory_with(address_of(of)); };
  if (client_->shard_moved(what.shard, what.epoch, shares)) {
    note("shard " + std::to_string(what.shard) + " has moved to " + what.address);
    client_->carry_out();
  }
  tick();
}

bool worker::shards_move() const {
  return session_.welcome().replicated || session_.welcome().aggregated;
}

// Of this coordinator, and of the one after it.
void worker::ask_of_moves() {
  if (!shards_move()) return;
  ask_coordinator(
      [hello = session_.hello(), me = id()](auto& to, answer_to reply) {
        to.tell_of_moves(hello, me, std::move(reply));
      },
      [](const answer&) {});
}

void worker::on_frame_lost(process_id, const runtime::frame_header& header) {
  if (let_go_ || !client_) return;
  client_->reply_lost(header);
  client_->carry_out();
}

// Now and then an earlier epoch's frame with other bytes comes first.
void worker::maybe_stranger(process_id to, const runtime::frame_header& header,
                            const memory_view& payload) {
  if (world_.plan.strangers == 0 || !world_.chance.chance(world_.plan.strangers)) return;
  auto stale = header;
  --stale.epoch;
  memory_view other;
  if (payload)
    other = {std::make_shared<std::vector<float>>(payload.count, 1e6F), 0, payload.count};
  world_.net.post(id(), to, stale, other, 0);
}

void worker::send(std::uint32_t shard, const runtime::frame_header& header) {
  maybe_stranger(home_of(shard), header, {});
  sender_.send(home_of(shard), header);
}

void worker::send_place(std::uint32_t shard, const runtime::frame_header& header) {
  send(shard, header);
}

void worker::send_gradient(const policies::worker_effects::send& sent,
                           const runtime::frame_header& header, std::uint64_t priority) {
  const memory_view gradient{tables_.at(sent.table).halves[sent.half], sent.first,
                             sent.elements};
  maybe_stranger(home_of(sent.shard), header, gradient);
  sender_.send(home_of(sent.shard), header, gradient, priority);
  check_waiting();
}

// Gradients of the clocks in flight, and once more where they are sent again.
void worker::check_waiting() const {
  std::size_t chunks = 0;
  for (const auto& [id, table] : tables_) chunks += table.grant.places.size();
  const auto bound = 2 * chunks * runtime::limits::clocks_in_flight_max;
  if (sender_.waiting() > bound)
    world_.check.fail("bounded", name() + " has " + std::to_string(sender_.waiting()) +
                                     " gradients that wait; credits allow " +
                                     std::to_string(bound));
}

bool worker::map_parameters(std::uint32_t table, const policies::table_part& part,
                            std::span<const std::byte>) {
  const auto* home = world_.find_as<front_process>(home_of(part.shard));
  if (!home) return false;
  const auto& memory = home->memory();
  const auto moves = client_->worker().moves_of(part.shard);
  for (const auto slot : memory.slots_of(table))
    tables_.at(table).sources[memory.chunk_of(slot)].mapped[moves] = memory.planes_of(slot);
  return true;
}

memory_view worker::place(process_id from, const runtime::frame_header& header) {
  if (let_go_ || !client_ || header.kind != frame_kind::pull_reply) return {};
  if (!client_->expects(header)) {
    if (const auto ack = policies::acknowledgement_in(header))
      later(0, [this, from, ack = *ack] { on_frame(from, ack, {}); });
    return {};
  }
  const auto& place = client_->worker().place_of(header.table, header.chunk);
  client_->begin_reply(header);
  world_.check.accepted(id(), header.job, header.epoch, header.shard);
  return {tables_.at(header.table).room, place.first, place.elements};
}

void worker::on_frame(process_id, const runtime::frame_header& header, memory_view) {
  if (let_go_ || !client_) return;
  client_->frame(header, {});
  client_->carry_out();
  if (client_ && !let_go_) spoil_exchanged();
}

void worker::peer_lost(process_id peer) {
  if (ended_) return;
  const auto shard = shard_at(peer);
  if (!shard) return client_ ? ask_of_moves() : void();  // it was a coordinator, or has moved
  // A network tells only that a connection broke; a ring tells that a process has ended.
  if (!shares_memory_with(address_of(*shard))) return connection_broke(peer);
  if (!shards_move()) give_up("lost the connection to a shard");
}

std::optional<std::uint32_t> worker::shard_at(process_id peer) const {
  const auto shards = session_.welcome().shard_addresses.size();
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    if (home_of(shard) == peer) return shard;
  return {};
}

void worker::connection_broke(process_id peer) {
  const auto shard = shard_at(peer);
  if (!shard || !client_ || let_go_ || ended_) return;
  note("lost the connection to shard " + std::to_string(*shard));
  client_->connection_broke(*shard, local_now());
  mend_soon();
}

void worker::mend_soon() {
  if (mending_ || !client_->is_mending()) return;
  mending_ = true;
  later(world_.plan.set.mend, [this] {
    mending_ = false;
    if (let_go_ || ended_) return;
    client_->mend(local_now());
    mend_soon();
  });
}

bool worker::reconnect(std::uint32_t shard) {
  std::vector<policies::send_name> dropped;
  sender_.drop(home_of(shard), dropped);
  world_.net.reconnect(id(), home_of(shard));
  return true;
}

}  // namespace tidegate::sim
