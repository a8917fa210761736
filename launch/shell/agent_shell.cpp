#include "launch/shell/agent_shell.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace tidegate::launch {

using policies::agent_core;

std::int64_t agent_shell::next_wake() const {
  return clock_.when(std::min(core_.next_wake(), hangs_.next_look()));
}

void agent_shell::begin(std::int64_t now) {
  clock_.begin(now);
  core_.begin(now, todo_);
  carry_out();
}

// Ends come before hangs: an incarnation that has ended does not hang.
void agent_shell::turn(std::int64_t now, agent_turn happened) {
  if (is_over()) return;
  const auto at =
      clock_.pass(now, std::min(core_.next_wake(), hangs_.next_look()), awake_clock::never);
  if (!happened.closed.empty()) core_.closed(at, happened.closed, todo_);
  for (const auto news : happened.link) {
    if (news == agent_turn::link_news::connected) core_.connected(at, todo_);
    if (news == agent_turn::link_news::not_connected) core_.not_connected(at, todo_);
    if (news == agent_turn::link_news::disconnected) core_.disconnected(at, todo_);
    carry_out();
  }
  for (auto& report : happened.reports) core_.report(at, std::move(report), todo_);
  for (const auto& frame : happened.frames) {
    core_.heard(at, frame, todo_);
    carry_out();
  }
  if (happened.all_ended) core_.all_ended(at, todo_);
  look_for_hangs();
  if (at >= core_.next_wake()) core_.tick(at, todo_);
  carry_out();
}

void agent_shell::look_for_hangs() {
  const auto at = clock_.now();
  if (at < hangs_.next_look()) return;
  std::vector<policies::hang> hangs;
  hangs_.look(at, processes_.beats(), hangs);
  for (const auto& hang : hangs)
    core_.report(
        at,
        policies::agent_reports::hangs{.process = {hang.process, incarnations_[hang.process]},
                                       .silent_ns = hang.silent_ns},
        todo_);
}

// Effects may lead to more effects, which are carried out, too.
void agent_shell::carry_out() {
  while (!todo_.all.empty()) {
    const auto batch = std::exchange(todo_.all, {});
    for (const auto& effect : batch)
      std::visit([this](const auto& content) { act(content); }, effect);
  }
}

void agent_shell::act(const effects::carry_out& order) {
  std::visit([this](const auto& content) { obey(content); }, order.order);
}

void agent_shell::act(const effects::end_all&) {
  incarnations_.clear();
  others_.survey({.step = policies::survey_step::end});
  processes_.end_all();
}

void agent_shell::obey(const policies::agent_orders::start& start) {
  const auto process = start.process;
  hangs_.forget(process.process);
  incarnations_[process.process] = process.incarnation;
  const auto spawned = processes_.spawn(start);
  if (!spawned)
    return core_.report(clock_.now(),
                        policies::agent_reports::not_started{.process = process,
                                                             .why = spawned.error().message()},
                        todo_);
  core_.report(clock_.now(),
               policies::agent_reports::started{.process = process,
                                                .pid = spawned->pid,
                                                .started_at = spawned->started_at,
                                                .was_spare = spawned->was_spare},
               todo_);
}

void agent_shell::obey(const policies::agent_orders::tell_spans& wanted) {
  for (auto& spans : processes_.spans(wanted.most)) {
    spans.number = wanted.number;
    core_.report(clock_.now(), std::move(spans), todo_);
  }
  core_.report(clock_.now(), policies::agent_reports::spans{.number = wanted.number}, todo_);
}

void agent_shell::obey(const policies::agent_orders::start_spare& start) {
  const auto started = processes_.spawn_spare(start);
  if (started.ok()) return;
  core_.report(
      clock_.now(),
      policies::agent_reports::spare_ended{
          .spare = start.spare,
          .why = "a spare of job " + start.job + " could not be started: " + started.message()},
      todo_);
}

}  // namespace tidegate::launch
