// The session of a simulated worker. Its program is in worker_program.cpp.
#include "launch/simulate/cluster/worker.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/endpoint_process.hpp"
#include "launch/simulate/cluster/launcher.hpp"
#include "policies/protocol/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::sim {

using policies::reply_code;
using action = policies::session_step::action;

worker::worker(world& where, process_id id, std::uint32_t host, std::size_t job,
               std::uint32_t rank, std::uint32_t incarnation, kept_bytes memory)
    : frame_process(where, id, role::worker,
                    "worker-" + where.plan.spec.jobs[job].name + "-" + std::to_string(rank),
                    host),
      cluster_member(static_cast<process&>(*this)),
      spec_(where.plan.spec.jobs[job]),
      script_(where.plan.scripts[job]),
      rank_(rank),
      incarnation_(incarnation),
      session_({.give_up_ms = where.plan.spec.start_timeout_ms,
                .report_interval_ns = where.plan.set.report}),
      keeping_(where, *this, rank,
               {.first = script_.keeps_from, .mirror_every = spec_.state_mirror_every}),
      tables_(where, *this, rank, incarnation) {
  for (const auto& table : spec_.tables) declared_.insert(table.name);
  keeping_.use(std::move(memory));
}

void worker::mirrored(std::uint64_t request) {
  if (ended_ || !shell_) return;
  shell_->mirrored(request);
  after_turn();
}

void worker::start() {
  enter_cluster();
}

// A session is no member that is asked for anything: it tells where it hears of moves.
void worker::ask_to_join(process_id, answer_to back) {
  if (shell_) ask_of_moves();
  back({});
}

void worker::settled() {
  if (!std::exchange(asks_to_join_, true)) join();
}

void worker::gave_up(const runtime::status& why) {
  ++world_.killed[name()];
  session_.give_up_coordinator();
  if (shell_) return shell_->fail({runtime::errc::unavailable, "the coordinator is gone"});
  if (!asks_to_join_) give_up("finding the coordinator: " + why.to_string());
}

void worker::join() {
  carry_out(session_.join(local_now(), {.job = spec_.name,
                                        .rank = rank_,
                                        .incarnation = incarnation_,
                                        .address = address()}),
            [this](const policies::session_step& joined) {
              const auto code = joined.result.code();
              // One that is not wanted any more, of which its launcher may not have heard.
              if (code == runtime::errc::refused || code == runtime::errc::cancelled)
                ++world_.killed[name()];
              if (!joined.result.ok()) return give_up("joining: " + joined.result.to_string());
              actors::worker_owner& owner = *this;
              keeping_.enter(session_.core().welcome());
              shell_ = std::make_unique<actors::worker_shell>(*this, tables_, owner, keeping_,
                                                              session_.core().welcome(), rank_,
                                                              incarnation_);
              tables_.enter(session_.core().welcome(), shell_->core());
              serve(*shell_);
              shell_->start();
              clock_ = session_.core().welcome().first_clock;
              if (keeping_.is_used()) keep_state();
              session_.core().clock_asked();
              ask_of_moves();
              open_tables(0);
            });
}

// Turns of an operation, to its end.
void worker::carry_out(actors::session_turn turn, ended then) {
  if (turn.step.kind == action::done) {
    // It has waited in vain for a coordinator, and ends.
    if (turn.step.result.code() == runtime::errc::unavailable) ++world_.killed[name()];
    if (!reason_.empty() && !ended_) return give_up(reason_);
    return then(std::move(turn.step));
  }
  if (turn.rest_ns)
    return later(*turn.rest_ns, [this, then = std::move(then)] {
      carry_out(session_.rested(local_now()), then);
    });
  perform(turn.step, [this, then = std::move(then)](answer got) {
    policies::session_answer value;
    if (auto* welcome = std::get_if<policies::worker_welcome>(&got.value)) value = *welcome;
    if (auto* grant = std::get_if<policies::table_grant>(&got.value)) value = *grant;
    if (auto* all = std::get_if<std::vector<policies::table_grant>>(&got.value)) value = *all;
    carry_out(session_.next(local_now(), std::move(got.result), std::move(value)), then);
  });
}

void worker::ask_coordinator(const policies::session_step& step, answer_to back) {
  const auto ask = [&](std::function<void(coordinator_process&, answer_to)> at) {
    process::ask<coordinator_process>(coordinator(), std::move(at), std::move(back));
  };
  const auto job = spec_.name;
  const auto rank = rank_;
  switch (step.kind) {
    case action::ask_welcome:
      return ask([hello = session_.core().hello(), me = id()](auto& to, answer_to reply) {
        to.worker_joined(hello, me, std::move(reply));
      });
    case action::ask_grant:
      return ask([request = step.request](auto& to, answer_to reply) {
        to.open_table(request, std::move(reply));
      });
    case action::tell_opened:
      return ask([job, rank, tables = step.tables](auto& to, answer_to reply) {
        to.tables_opened(job, rank, tables, reply);
      });
    case action::tell_finished:
      return ask([job, rank, clock = clock_, hashed = step.hashed](auto& to, answer_to reply) {
        policies::worker_progress last;
        last.clock = clock;
        to.finished(job, rank, last, hashed ? "digest" : "", reply);
      });
    case action::tell_failed:
      return ask(
          [job, why = step.why](auto& to, answer_to reply) { to.fail_job(job, why, reply); });
    default:
      TIDEGATE_ASSERT(false, "a question that a program here asks");
  }
}

namespace {

auto answer_with(answer_to back) {
  return [back = std::move(back)](reply_code code) {
    back({code == reply_code::ok
              ? runtime::status()
              : runtime::status(runtime::errc::refused, std::string(to_string(code))),
          {}});
  };
}

}  // namespace

void worker::perform(const policies::session_step& step, answer_to back) {
  if (actors::is_question(step.kind)) return ask_coordinator(step, std::move(back));
  switch (step.kind) {
    case action::attach:
      return attach(step.grant, std::move(back));
    case action::farewell:
      return begin([](auto& core, auto op, auto& out) { return core.finish(op, out); },
                   answer_with(std::move(back)));
    case action::pull_to_end:
      tables_.begin_pull(step.grant.table);
      return pull(step.grant.table, policies::worker_core::extent::to_the_end, std::nullopt,
                  answer_with(std::move(back)));
    case action::hash:
      tables_.read(~std::uint64_t{0}, true, step.grant.table);
      return back({});
    default:
      break;
  }
}

void worker::attach(const policies::table_grant& grant, answer_to back) {
  if (!shell_->broken().ok()) return back({shell_->broken(), {}});
  tables_.add(grant);
  opening_[grant.table] = std::move(back);
  auto places = grant.places;
  if (session_.core().welcome().aggregated)
    for (auto& place : places) place.shard = 0;
  shell_->open(grant.table, std::move(places), grant.rows.dim > 0);
}

void worker::opened(std::uint32_t table) {
  const auto back = std::exchange(opening_[table], nullptr);
  if (back) later(0, [back] { back({}); });  // out of the core's call
}

void worker::pull(std::uint32_t table, policies::worker_core::extent wanted,
                  const std::optional<std::vector<std::uint32_t>>& chunks, callback then) {
  const auto asked = tables_.answer_of(table);
  begin([&](auto& core, auto op,
            auto& out) { return core.pull(table, op, wanted, out, chunks, asked); },
        [this, table, wanted, then = std::move(then)](reply_code code) {
          if (ended_ || code != reply_code::ok) return then(code);
          const auto unread = tables_.take_rows(table);
          unread ? pull(table, wanted, unread, then) : then(code);
        });
}

void worker::begin(const start_of& start, callback then) {
  if (!shell_->broken().ok()) return then(reply_code::job_ended);
  const auto op = ++last_operation_;
  const auto code = shell_->begin([&](auto& core, auto& out) { return start(core, op, out); });
  if (code != runtime::errc::ok) {
    then(reply_code::job_ended);
    return;
  }
  operations_[op] = std::move(then);
  shell_->carry_out();
  check_waiting();
}

void worker::done(policies::operation op, reply_code code) {
  const auto at = operations_.find(op);
  if (at == operations_.end())
    return world_.check.fail("one end", name() + ": an operation ends twice");
  auto then = std::move(at->second);
  operations_.erase(at);
  if (code == reply_code::ok) tables_.end_push(op, script_.way == worker_way::exchange);
  later(0, [then = std::move(then), code] { then(code); });
}

std::uint32_t worker::half() {
  return half_.at(clock_, shell_->core().pushes_under_way() > 0);
}

void worker::shard_moved(const policies::shard_moved& move) {
  if (!shell_) return;
  tables_.bring_to_host();
  shell_->shard_moved(move);
  after_turn();
}

// Of this coordinator, and of the one after it.
void worker::ask_of_moves() {
  if (!shell_->shards_move()) return;
  process::ask<coordinator_process>(
      coordinator(),
      [hello = session_.core().hello(), me = id()](coordinator_process& to,
                                                   const answer_to& reply) {
        to.tell_of_moves(hello, me, reply);
      },
      [](const answer&) {});
}

void worker::keep_state() {
  holds_ = true;
  begin([](auto& core, auto op, auto& out) { return core.keep_state(op, out); },
        [this](reply_code code) {
          if (code != reply_code::ok && !ended_) give_up("its state cannot be kept");
        });
}

// Gradients of the clocks in flight, the call of each chunk that is called, and once more where
// they are sent again.
void worker::check_waiting() const {
  const auto bound =
      2 * (tables_.chunks() * runtime::limits::clocks_in_flight_max + tables_.called_chunks());
  if (shell_->waiting() > bound)
    world_.check.fail("bounded", name() + " has " + std::to_string(shell_->waiting()) +
                                     " gradients and calls that wait; credits allow " +
                                     std::to_string(bound));
}

// Whatever the program waits for ends.
void worker::failed(const runtime::status& why) {
  note("fails: " + why.to_string());
  for (auto& [op, then] : std::exchange(operations_, {}))
    later(0, [then = std::move(then)] { then(reply_code::job_ended); });
  for (const auto& [table, back] : std::exchange(opening_, {}))
    if (back) later(0, [answer = back, why] { answer({why, {}}); });
}

void worker::placed(const runtime::frame_header& header) {
  if (header.kind == runtime::frame_kind::pull_reply)
    world_.check.accepted(id(), header.job, header.epoch, header.shard);
}

void worker::after_frame() {
  if (shell_->broken().ok()) tables_.check_exchanged();
}

void worker::after_turn() {
  check_waiting();
}

}  // namespace tidegate::sim
