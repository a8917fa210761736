#include "launch/shell/run_shell.hpp"

#include <algorithm>
#include <variant>

#include "runtime/base/planted.hpp"

namespace tidegate::launch {

using policies::process_role;
using runtime::is_planted;
using runtime::planted_bug;

namespace {

// A turn may be so late before the launcher counts as having been stopped; and so long after
// the turn before while it polls, as answers and time-outs of polls are turns.
constexpr std::int64_t late_max = 500'000'000;
constexpr std::int64_t gap_max = 3'000'000'000;

}  // namespace

run_shell::run_shell(policies::launch_plan plan, run_port& world,
                     std::uint32_t heartbeat_timeout_ms)
    : world_(world), core_(std::move(plan)), hangs_(heartbeat_timeout_ms) {}

std::int64_t run_shell::next_wake() const {
  const auto at = std::min(core_.next_wake(), hangs_.next_look());
  return at == policies::launch_core::never ? at : at + stopped_;
}

// Where a turn comes too late, all time since the turn before counts as stopped.
void run_shell::pass_time(std::int64_t now) {
  const auto before = now_ + stopped_;
  const bool was_stopped = now - late_max > std::max(next_wake(), before) ||
                           (world_.watches() && now - before > gap_max);
  if (was_stopped && !is_planted(planted_bug::stopped_launcher_judges_by_old_news))
    stopped_ = now - now_;
  now_ = now - stopped_;
}

void run_shell::begin(std::int64_t now) {
  now_ = now;
  core_.begin(now_, todo_);
  carry_out();
  decide();
}

// Ends come before hangs: an incarnation that has ended does not hang.
void run_shell::turn(std::int64_t now, run_turn happened) {
  if (end_) return;
  pass_time(now);
  keep_pids();
  take_signals(happened.signals);
  if (happened.coordinator_ready) core_.coordinator_ready(now_, todo_);
  if (!happened.coordinator_unusable.empty())
    core_.coordinator_unusable(now_, happened.coordinator_unusable, todo_);
  carry_out();
  if (happened.news) take_news(std::move(*happened.news));
  take_ends(happened.ends);
  for (const auto& ready : happened.spares_ready) {
    world_.event("spare_waits", "spare " + std::to_string(ready.spare));
    core_.spare_ready(ready.spare, ready.can_copy);
  }
  for (const auto& end : happened.spare_ends)
    core_.spare_ended(now_, end.spare, end.why, todo_);
  look_for_hangs();
  for (auto& wanted : happened.requests) scalings_.push_back({std::move(wanted), false});
  ask_to_scale();
  carry_out();
  decide();
}

void run_shell::conclude(std::int64_t now, poll_news news) {
  pass_time(now);
  take_news(std::move(news));
}

void run_shell::take_signals(const std::vector<run_turn::signal>& signals) {
  for (const auto& signal : signals) {
    world_.event("signal", signal.name);
    core_.interrupted(now_, signal.name, signal.saves, todo_);
    carry_out();
  }
}

void run_shell::take_news(poll_news news) {
  if (news.gave_up) core_.unreachable(now_, news.health, todo_);
  if (news.connected)
    core_.polled(now_,
                 {.health = news.health,
                  .answered = news.answered,
                  .jobs = std::move(news.status.jobs),
                  .incarnation = news.status.incarnation,
                  .lost = std::move(news.status.lost),
                  .condemned = std::move(news.status.condemned)},
                 todo_);
  for (const auto& [number, result] : news.answers) answered(number, result);
  carry_out();
}

void run_shell::take_ends(std::vector<run_turn::end>& ends) {
  for (auto& end : ends) {
    world_.event("process_ended", end.exit.text);
    const auto life = launched_of(end.process);
    const auto& name = core_.processes()[end.process];
    core_.ended(now_, end.process, std::move(end.exit));
    pids_changed_ = true;
    // To a coordinator, a death may look like a connection that broke.
    if (world_.watches() && name.role != process_role::coordinator)
      ask({.about = launch_question::kind::process_ended,
           .name = name,
           .incarnation = life.incarnation,
           .number = 0});
  }
}

void run_shell::look_for_hangs() {
  if (now_ < hangs_.next_look()) return;
  std::vector<policies::hang> hangs;
  hangs_.look(now_, world_.beats(), hangs);
  for (const auto& hang : hangs) core_.hangs(hang.process, hang.silent_ns, todo_);
  carry_out();
}

void run_shell::decide() {
  core_.decide(now_, todo_);
  carry_out();
}

// Effects may lead to more effects, which are carried out, too.
void run_shell::carry_out() {
  while (!todo_.all.empty()) {
    const auto batch = std::exchange(todo_.all, {});
    for (const auto& effect : batch)
      std::visit([this](const auto& content) { act(content); }, effect);
  }
  if (!is_planted(planted_bug::pids_written_a_turn_late)) keep_pids();
}

void run_shell::keep_pids() {
  if (!pids_changed_) return;
  const bool written = world_.write_pids().ok();
  pids_changed_ = !written && !is_planted(planted_bug::pids_not_written_again);
}

void run_shell::act(const effects::start& start) {
  hangs_.forget(start.process);
  const auto name = world_.spawn(start);
  pids_changed_ = true;
  if (!name) return core_.could_not_start(now_, start.process, name.error().message(), todo_);
  const auto life =
      start.incarnation == 1 ? "" : " incarnation " + std::to_string(start.incarnation);
  world_.event(start.incarnation == 1 ? "process_started" : "process_restarted", *name + life);
  core_.started(now_, start.process, todo_);
  if (is_planted(planted_bug::process_spawned_twice) && start.incarnation > 1)
    (void)world_.spawn(start);
}

void run_shell::act(const effects::start_spare& start) {
  const auto started = world_.spawn_spare(start);
  if (!started.ok())
    core_.spare_ended(
        now_, start.spare,
        "a spare of job " + start.job + " could not be started: " + started.message(), todo_);
}

void run_shell::act(const effects::end_spare& end) {
  world_.end_spare(end.spare);
}

// No process of the epoch before lives.
void run_shell::act(const effects::renew& renewal) {
  world_.unwatch();
  asked_.clear();
  for (auto& request : scalings_) request.asked = false;  // the next coordinator is asked
  world_.event("epoch", std::to_string(renewal.epoch));
  const bool planted = is_planted(planted_bug::epoch_not_on_record);
  core_.renewed(now_, planted ? runtime::status() : world_.record_epoch(renewal.epoch), todo_);
}

void run_shell::act(const effects::watch&) {
  world_.watch();
}

void run_shell::act(const effects::poll_now&) {
  world_.poll_now();
}

void run_shell::act(const effects::stop_cluster& stop) {
  world_.finish(stop.failures);
}

void run_shell::act(const effects::leave& leave) {
  ask({.about = launch_question::kind::leave,
       .name = core_.processes()[leave.process],
       .incarnation = 0,
       .number = 0},
      leave.process);
}

void run_shell::act(const effects::save& save) {
  ask({.about = launch_question::kind::save,
       .name = {.job = save.job},
       .incarnation = 0,
       .number = 0});
}

void run_shell::act(const effects::terminate& end) {
  world_.end(launched_of(end.process), false);
}

void run_shell::act(const effects::kill& end) {
  world_.end(launched_of(end.process), true);
}

void run_shell::act(const effects::note& note) {
  world_.event(note.subject, note.detail);
}

void run_shell::act(const effects::complain& complaint) {
  world_.complain(complaint.text);
}

void run_shell::act(const effects::show_log& log) {
  world_.show_log(log.process);
}

void run_shell::act(const effects::conclude& conclusion) {
  end_ = conclusion;
}

void run_shell::ask(const launch_question& question, policies::process_number process) {
  asked_[world_.ask(question)] = {question, process};
}

void run_shell::answered(std::uint64_t number, const runtime::status& result) {
  using about = launch_question::kind;
  const auto found = asked_.extract(number);
  if (!found) return;  // its epoch is over
  const auto& [question, process] = found.mapped();
  if (question.about == about::leave) core_.left(now_, process, result, todo_);
  if (question.about == about::save && !result.ok())
    world_.event("save_failed", question.name.job + ": " + result.to_string());
  if (question.about == about::scale || question.about == about::scale_shards) scaled(result);
}

}  // namespace tidegate::launch
