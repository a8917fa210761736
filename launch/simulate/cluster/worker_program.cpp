// What a simulated worker trains.
#include <algorithm>

#include "launch/simulate/cluster/coordinator.hpp"
#include "launch/simulate/cluster/draws.hpp"
#include "launch/simulate/cluster/host_processes.hpp"
#include "launch/simulate/cluster/slowness.hpp"
#include "launch/simulate/cluster/worker.hpp"
#include "runtime/base/rng.hpp"

namespace tidegate::sim {

using policies::reply_code;
using extent = policies::worker_core::extent;

void worker::open_tables(std::size_t next) {
  if (next == script_.tables.size()) {
    std::sort(ids_.begin(), ids_.end());
    carry_out(session_.before_moving(local_now()), [this](const policies::session_step& last) {
      if (!last.result.ok()) return give_up("telling its tables: " + last.result.to_string());
      run_clock();  // one that comes back may have made all its clocks
    });
    return;
  }
  policies::table_request request;
  request.job = spec_.name;
  // Those that the cluster does not know are created by who comes first.
  const auto number = (next + rank_) % script_.tables.size();
  const auto& table = script_.tables[number];
  request.spec.name = table.name;
  request.spec.shape = table.shape;
  request.spec.rows = table.rows;
  if (!declared_.contains(table.name)) {
    request.spec = table;
    request.options_given = request.optimizer_given = true;
  }
  carry_out(session_.open(local_now(), request),
            [this, next, number](const policies::session_step& opened) {
              if (!opened.result.ok()) return give_up("opening: " + opened.result.to_string());
              tables_.set_number(opened.grant.table, number);
              ids_.push_back(opened.grant.table);
              open_tables(next + 1);
            });
}

void worker::run_clock() {
  if (clock_ >= script_.clocks) return end();
  pull_all([this] { call_some([this] { compute(); }); });
}

// A function of some tables, one after the other: between its pull and its push.
void worker::call_some(std::function<void()> then, std::size_t next) {
  while (next < ids_.size() && !(script_.calls > 0 && world_.chance.chance(script_.calls)))
    ++next;
  if (next >= ids_.size()) return then();
  const auto table = ids_[next];
  tables_.begin_call(table);
  begin(
      [table](auto& core, auto op, auto& out) {
        return core.pull(table, op, extent::as_policy, out, std::nullopt,
                         policies::worker_core::answer_kind::results);
      },
      [this, then = std::move(then), table, next](reply_code code) mutable {
        if (ended_) return;
        if (code != reply_code::ok)
          return give_up("a call is refused: " + std::string(to_string(code)));
        tables_.check_call(table);
        call_some(std::move(then), next + 1);
      });
}

// All tables at once, then reads them.
void worker::pull_all(std::function<void()> then) {
  auto left = std::make_shared<std::size_t>(ids_.size());
  auto shared = std::make_shared<std::function<void()>>(std::move(then));
  for (const auto table : ids_) {
    tables_.begin_pull(table);
    pull(table, extent::as_policy, tables_.chunks_of(table, ranges_of(table)),
         [this, left, shared, table](reply_code code) {
           if (ended_) return;
           if (code != reply_code::ok)
             return give_up("a pull is refused: " + std::string(to_string(code)));
           tables_.read(clock_, false, table);
           if (--*left == 0) (*shared)();
         });
  }
  maybe_mistake();
}

// A call while operations are under way that it may not be made beside: it is told so, and
// leaves everything as it was.
void worker::maybe_mistake() {
  if (ended_ || world_.plan.set.mistakes == 0) return;
  if (!world_.chance.chance(world_.plan.set.mistakes)) return;
  const auto index = world_.chance.below(4);
  const auto table = ids_[world_.chance.below(ids_.size())];
  const auto op = last_operation_ + 1;
  const auto code = shell_->begin([&](auto& core, auto& out) {
    if (index == 0) return core.pull(table, op, extent::as_policy, out);
    if (index == 1) return core.push(table, op, out);
    return index == 2 ? core.clock(op, out) : core.finish(op, out);
  });
  shell_->carry_out();
  if (code != runtime::errc::out_of_order)
    world_.check.fail("in order", name() + ": a call out of order is not told so");
}

void worker::compute() {
  // Nobody waits for rows that are pulled ahead.
  for (const auto table : ids_) {
    if (ended_) return;
    if (script_.ahead == 0 || !world_.chance.chance(script_.ahead)) continue;
    const auto parts = tables_.begin_pull_ahead(table);
    if (parts.empty()) continue;
    using kind = policies::worker_core::answer_kind;
    const auto start = [table, parts](auto& core, auto op, auto& out) {
      return core.pull(table, op, extent::as_policy, out, parts, kind::results_ahead);
    };
    begin(start, [](reply_code) {});
  }
  auto takes = world_.chance.between(script_.compute_min, script_.compute_max);
  if (script_.slow_rank % spec_.workers == rank_) takes *= script_.slow_factor;
  if (script_.pause > 0 && world_.chance.chance(script_.pause))
    takes += world_.chance.between<nanoseconds>(0, script_.pause_max);
  if (world_.slow) {
    takes = world_.slow->computes(rank_, clock_, takes);
    times_.collected_garbage(world_.slow->collects(rank_, clock_));
  }
  const auto began = local_now();
  program_.computes(began);
  later(takes, [this, began] {
    times_.computed(local_now() - began);
    program_.computed(local_now());
    if (!ended_) await_room([this] { write_and_push(); });
  });
}

// Follows from rank and clock alone, as gradients do: who comes back does the same again.
bool worker::skips(std::uint32_t table) const {
  const auto key =
      runtime::mix64(session_.core().welcome().seed ^ (rank_ * 10007ULL + clock_ * 101ULL));
  return script_.skip > 0 &&
         static_cast<double>(runtime::mix64(key + tables_.number_of(table)) % 1000) <
             1000 * script_.skip;
}

std::optional<worker_tables::ranges> worker::ranges_of(std::uint32_t table) const {
  if (script_.ranges == 0 || !tables_.is_lazy(table)) return std::nullopt;
  draws chance(
      runtime::mix64(session_.core().welcome().seed ^ (rank_ * 30011ULL + clock_ * 401ULL)) +
      tables_.number_of(table));
  if (!chance.chance(script_.ranges)) return std::nullopt;
  return tables_.draw_ranges(table, chance);
}

// The operation that begins next.
void worker::note_push(std::vector<std::uint32_t> tables) {
  const auto of = script_.way == worker_way::exchange ? policies::all_tables : tables.front();
  tables_.stage(tables, half(), !shell_->reads_on_device(of));
  tables_.begin_push(last_operation_ + 1,
                     {.tables = std::move(tables), .half = half(), .clock = clock_});
}

// What is kept first may be too much, so that pushes are held back and nothing is kept.
void worker::keep() {
  const bool is_due = keeping_.is_due(clock_);
  if ((is_due || script_.holds_early) && !holds_) keep_state();
  if (!is_due) return;
  if (!ended_) keeping_.keep(clock_);
}

void worker::write_and_push() {
  times_.pushes(local_now());
  program_.pushes(local_now(), session_.core().welcome().token, clock_);
  const auto rate = rate_of(session_.core().welcome().seed, {.rank = rank_, .clock = clock_});
  // What waits for its pushes keeps before them.
  const bool late = script_.way == worker_way::overlapped && holds_;
  if (!late) keep();
  std::vector<std::uint32_t> pushed;
  for (const auto id : ids_) {
    if (skips(id)) continue;
    tables_.write(id, clock_, half(), ranges_of(id));
    pushed.push_back(id);
  }
  const auto failed = [this](reply_code code) {
    if (code != reply_code::ok && !ended_) give_up("refused: " + std::string(to_string(code)));
    return ended_;
  };
  // Nobody says that a process pushes its tables in the order of the process before it.
  if (script_.keeps_from && incarnation_ % 2 == 0) std::reverse(pushed.begin(), pushed.end());
  if (script_.way == worker_way::exchange) {
    if (pushed.size() != ids_.size())
      for (const auto id : ids_)
        if (std::find(pushed.begin(), pushed.end(), id) == pushed.end())
          tables_.write(id, clock_, half());
    note_push(ids_);
    begin([this, rate](auto& core, auto op,
                       auto& out) { return core.exchange(ids_, op, out, half(), rate); },
          [this, failed](reply_code code) {
            if (failed(code)) return;
            for (const auto id : ids_) tables_.read(clock_ + 1, false, id);
            move_on([this] { clock_ >= script_.clocks ? end() : compute(); });
          });
    return maybe_mistake();
  }
  if (pushed.empty()) {
    if (late) keep();
    return end_clock();
  }
  auto left = std::make_shared<std::size_t>(pushed.size());
  for (const auto id : pushed) {
    note_push({id});
    begin(
        [this, id, rate](auto& core, auto op, auto& out) {
          return core.push(id, op, out, half(), rate, tables_.written_chunks(id, half()));
        },
        [this, failed, left](reply_code code) {
          if (failed(code)) return;
          if (--*left == 0 && script_.way == worker_way::pull_push) end_clock();
        });
    if (ended_) return;
  }
  if (late) keep();
  if (script_.way == worker_way::overlapped) return end_clock();
  // As pending::wait does.
  if (holds_)
    begin([](auto& core, auto op, auto& out) { return core.release(op, out); },
          [](reply_code) {});
}

void worker::end_clock() {
  begin([](auto& core, auto op, auto& out) { return core.clock(op, out); },
        [this](reply_code code) {
          if (ended_) return;
          if (code != reply_code::ok) return give_up("clock: " + std::string(to_string(code)));
          move_on([this] { run_clock(); });
        });
}

void worker::move_on(std::function<void()> then) {
  ++clock_;
  tell_progress();
  if (session_.core().welcome().one_clock_in_flight) return await_room(std::move(then));
  then();
}

void worker::await_room(std::function<void()> then) {
  if (shell_->core().has_room()) return then();
  begin([](auto& core, auto op, auto& out) { return core.room(op, out); },
        [this, then = std::move(then), began = local_now()](reply_code code) {
          if (ended_) return;
          times_.waited_for_credits(local_now() - began);
          if (code != reply_code::ok) return give_up("room: " + std::string(to_string(code)));
          then();
        });
}

void worker::tell_progress() {
  if (!spec_.checkpoint && !world_.slow) return;  // nobody asks
  if (!session_.report_is_due(local_now(), false)) return;
  process::ask<coordinator_process>(
      coordinator(),
      [job = spec_.name, rank = rank_,
       report = times_.report(local_now(), clock_, pressure_of_process(), shell_->answers())](
          coordinator_process& to, const answer_to& reply) {
        to.progress(job, rank, report);
        reply({});
      },
      [](const answer&) {});
}

// Half of the workers store something in between, as `spawn` of Python does.
void worker::end() {
  if (runtime::mix64(session_.core().welcome().seed ^ rank_) % 2 == 0) return finish();
  carry_out(session_.end_clocks(local_now()), [this](const policies::session_step& ended) {
    if (ended_) return;
    if (!ended.result.ok()) return give_up("end of clocks: " + ended.result.to_string());
    later(script_.compute_max, [this] {
      if (!ended_) finish();
    });
  });
}

void worker::finish() {
  carry_out(session_.finish(local_now()), [this](const policies::session_step& finished) {
    if (ended_) return;
    if (!finished.result.ok()) return give_up("finish: " + finished.result.to_string());
    ended_ = true;
    host_processes::exits(world_, id(), {});
  });
}

// As a program that returns an error: the job hears of it, then the process ends.
void worker::give_up(const std::string& why) {
  if (ended_) return;
  if (session_.core().is_busy()) {
    reason_ = why;
    return;
  }
  ended_ = true;
  note("gives up: " + why);
  auto turn = shell_ ? session_.fail(local_now(), {runtime::errc::cancelled, why})
                     : session_.leave(local_now());
  carry_out(std::move(turn), [this, why](const policies::session_step&) {
    host_processes::exits(world_, id(), {runtime::errc::cancelled, why});
  });
}

}  // namespace tidegate::sim
