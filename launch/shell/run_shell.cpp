#include "launch/shell/run_shell.hpp"

#include <algorithm>
#include <variant>

#include "launch/shell/inner_agent.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::launch {

using runtime::is_planted;
using runtime::planted_bug;

namespace {

// While the coordinator is polled, answers and time-outs of polls are turns: so long after the
// turn before, the launcher has been stopped.
constexpr std::int64_t gap_max = 3'000'000'000;

// When a turn is due, in the core's time: the core decides nothing after its conclusion.
std::int64_t due(const policies::launch_core& core, const run_hosts& hosts, bool is_concluded) {
  return is_concluded ? hosts.next_wake() : std::min(core.next_wake(), hosts.next_wake());
}

}  // namespace

run_shell::run_shell(policies::launch_plan plan, run_port& world, std::uint64_t launcher)
    : world_(world), core_(plan), hosts_(plan, launcher, world, core_) {}

std::int64_t run_shell::next_wake() const {
  if (hosts_.has_reports()) return clock_.when(now_);
  return clock_.when(due(core_, hosts_, conclusion_.has_value()));
}

// Where a turn comes too late, all time since the turn before counts as stopped.
void run_shell::pass_time(std::int64_t now) {
  now_ = clock_.pass(now, due(core_, hosts_, conclusion_.has_value()),
                     polls_ ? gap_max : awake_clock::never,
                     !is_planted(planted_bug::stopped_launcher_judges_by_old_news));
}

void run_shell::begin(std::int64_t now) {
  now_ = now;
  clock_.begin(now);
  core_.begin(now_, todo_);
  carry_out();
  hosts_.begin(now_);  // what becomes of a host at once is heard by a core that has begun
  carry_out();
  decide();
}

void run_shell::turn(std::int64_t now, run_turn happened) {
  if (ended() != nullptr) return;
  pass_time(now);
  keep_pids();
  hosts_.tick(now_);
  if (conclusion_) {  // agents leave; nothing else is decided
    if (std::ranges::any_of(happened.signals, [](const auto& each) { return !each.once; }))
      hosts_.leave(true);
    return carry_out();
  }
  take_signals(happened.signals);
  carry_out();
  if (happened.news) take_news(std::move(*happened.news));
  take_reports();
  take_cancels(happened.cancels);
  for (auto& wanted : happened.requests) scalings_.push_back({std::move(wanted), false});
  for (auto& wanted : happened.traces) hosts_.collect_spans(std::move(wanted));
  ask_to_scale();
  carry_out();
  decide();
}

void run_shell::disturb(const policies::process_name& process,
                        policies::process_signal content) {
  const auto& all = core_.processes();
  const auto at = std::find(all.begin(), all.end(), process);
  if (at == all.end()) return;
  hosts_.signal(static_cast<policies::process_number>(at - all.begin()), content);
  carry_out();
}

void run_shell::conclude(std::int64_t now, poll_news news) {
  pass_time(now);
  take_news(std::move(news));
}

void run_shell::take_signals(const std::vector<run_turn::signal>& signals) {
  for (const auto& signal : signals) {
    if (signal.once && core_.is_ending()) continue;
    world_.event("signal", signal.name);
    core_.interrupted(now_, signal.name, signal.saves, todo_);
    carry_out();
  }
}

void run_shell::collect_spans(span_request wanted) {
  hosts_.collect_spans(std::move(wanted));
  carry_out();
}

void run_shell::take_news(poll_news news) {
  if (news.connected) {
    std::set<std::string> cancelled;
    for (const auto& wanted : cancels_) cancelled.insert(wanted.job);
    hosts_.look_for_failures(news.status.jobs, cancelled);
  }
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

void run_shell::take_cancels(const std::vector<cancel_request>& cancels) {
  for (const auto& wanted : cancels) {
    const bool is_known = std::any_of(cancels_.begin(), cancels_.end(),
                                      [&](const auto& each) { return each.job == wanted.job; });
    cancels_.push_back(wanted);
    if (is_known) continue;  // whoever asks again while it is not on record hears the same
    const auto result = core_.cancel(wanted.job, "tidegate cancel", todo_);
    if (result.ok()) continue;
    cancels_.pop_back();
    world_.answer(wanted.asker, "error " + result.message());
  }
  carry_out();
}

void run_shell::answer_cancel(const std::string& job, const std::string& line) {
  std::erase_if(cancels_, [&](const cancel_request& wanted) {
    if (wanted.job == job) world_.answer(wanted.asker, line);
    return wanted.job == job;
  });
}

// Agents of this process may have answered what was decided.
void run_shell::decide() {
  do {
    take_reports();
    carry_out();
    core_.decide(now_, todo_);
    carry_out();
  } while (hosts_.has_reports());
}

// To a coordinator, a death may look like a connection that broke.
void run_shell::take_reports() {
  hosts_.take_reports(todo_);
  for (const auto& process : hosts_.take_ended()) {
    const auto& name = core_.processes()[process.process];
    if (world_.watches() && name.role != policies::process_role::coordinator)
      ask({.about = launch_question::kind::process_ended,
           .name = name,
           .incarnation = process.incarnation,
           .number = 0});
  }
}

// Effects may lead to more effects, which are carried out, too.
void run_shell::carry_out() {
  do {
    const auto batch = std::exchange(todo_.all, {});
    for (const auto& effect : batch)
      std::visit([this](const auto& content) { act(content); }, effect);
  } while (hosts_.carry_out(todo_) || !todo_.all.empty());
  if (!is_planted(planted_bug::pids_written_a_turn_late)) keep_pids();
}

void run_shell::keep_pids() {
  pids_changed_ |= hosts_.take_change();
  if (!pids_changed_) return;
  const bool written = world_.write_pids(hosts_.living()).ok();
  pids_changed_ = !written && !is_planted(planted_bug::pids_not_written_again);
}

// No process of the epoch before lives.
void run_shell::act(const effects::renew& renewal) {
  world_.unwatch();
  polls_ = false;
  hosts_.begin_epoch();
  asked_.clear();
  for (auto& request : scalings_) request.asked = false;  // the next coordinator is asked
  world_.event("epoch", std::to_string(renewal.epoch));
  const bool planted = is_planted(planted_bug::epoch_not_on_record);
  core_.renewed(now_, planted ? runtime::status() : world_.record_epoch(renewal.epoch), todo_);
}

void run_shell::act(const effects::watch&) {
  world_.watch();
  polls_ = true;
}

void run_shell::act(const effects::poll_now&) {
  world_.poll_now();
}

// The lines are of workers that forgot finish(), or ended before they came to it.
void run_shell::tell_who_left(const std::string& job) {
  constexpr std::size_t shown_max = 3;
  const auto* status = core_.job(job);
  if (status == nullptr) return;
  const auto texts = hosts_.workers_that_left().take(*status);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto text = texts[i] + ", without finish()";
    world_.event("left_unfinished", text, {.job = job});
    if (i < shown_max) world_.complain("tidegate: " + text);
  }
  if (texts.size() > shown_max)
    world_.complain("tidegate: and " + std::to_string(texts.size() - shown_max) +
                    " more; events.jsonl has all (left_unfinished)");
}

void run_shell::act(const effects::stop_cluster& stop) {
  for (const auto& [job, why] : stop.failures) tell_who_left(job);
  world_.finish(stop.failures);
  polls_ = false;  // but for the last one, whose turn is not waited for
}

void run_shell::act(const effects::leave& leave) {
  ask({.about = launch_question::kind::leave,
       .name = core_.processes()[leave.process],
       .incarnation = 0,
       .number = 0},
      leave.process);
}

void run_shell::act(const effects::fail_job& failure) {
  tell_who_left(failure.job);
  ask({.about = launch_question::kind::fail_job,
       .name = {.job = failure.job},
       .incarnation = 0,
       .number = 0,
       .why = failure.reason});
}

void run_shell::act(const effects::record_cancelled& ended) {
  const auto recorded = world_.record_cancelled(ended.job);
  if (recorded.ok()) return answer_cancel(ended.job, "ok");
  const auto why = "job " + ended.job +
                   " ends, and begins again if the run is resumed: " + recorded.message();
  world_.complain("tidegate: " + why);
  answer_cancel(ended.job, "error " + why);
}

void run_shell::act(const effects::was_done& job) {
  answer_cancel(job.job, "error job " + job.job + " has ended");
}

void run_shell::act(const effects::save& save) {
  ask({.about = launch_question::kind::save,
       .name = {.job = save.job},
       .incarnation = 0,
       .number = 0});
}

void run_shell::act(const effects::note& note) {
  world_.event(note.subject, note.detail, note.about);
}

void run_shell::act(const effects::complain& complaint) {
  world_.complain(complaint.text);
}

void run_shell::act(const effects::show_log& log) {
  world_.show_log(core_.processes()[log.process].to_string());
}

// The launcher's own agent has none.
void run_shell::act(const effects::show_agent_log& log) {
  if (log.host != inner_agent::host) world_.show_log("agent-" + hosts_.name(log.host));
}

void run_shell::act(const effects::conclude& conclusion) {
  conclusion_ = conclusion;
  polls_ = false;
  if (world_.traces_end()) hosts_.collect_spans({.why = span_request::reason::run_ended});
  hosts_.leave();
}

const policies::launch_effects::conclude* run_shell::ended() const noexcept {
  return conclusion_ && hosts_.are_gone() ? &*conclusion_ : nullptr;
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
    world_.event("save_failed", question.name.job + ": " + result.to_string(),
                 {.job = question.name.job, .cause = result.to_string()});
  if (question.about == about::scale || question.about == about::scale_shards) scaled(result);
}

}  // namespace tidegate::launch
