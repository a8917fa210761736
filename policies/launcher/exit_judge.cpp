#include "policies/launcher/exit_judge.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "policies/launcher/state.hpp"

namespace tidegate::policies::launching {

namespace {

// How long a status may take that tells whether a worker that has ended was done.
constexpr std::int64_t judge_after_max = 1000 * millisecond;

bool has_finished(const job_status& job, std::uint32_t rank) {
  return std::find(job.ranks_finished.begin(), job.ranks_finished.end(), rank) !=
         job.ranks_finished.end();
}

}  // namespace

void exit_judge::ended(std::int64_t now, process_number process, process_exit exit) {
  if (const auto reason = state_.processes.ended(process); !reason.empty())
    exit.text += ", as " + reason;
  if (!state_.lifecycle.is_active()) return;
  state_.coordinator.ended(process);
  if (state_.scaling.is_unwanted(process) || state_.endings.is_over(process)) return;
  const bool is_clean = exit.kind == process_exit::ending::clean;
  // The coordinator has sent it away.
  if (is_clean && state_.plan.slots > 0 && serves_shard(state_.processes.role(process)))
    return state_.scaling.slot_ended(process);
  if (!is_clean || !state_.processes.is_worker(process))
    unjudged_.push_back({process, std::move(exit), now,
                         state_.coordinator.is_polling() ? state_.coordinator.next_poll() : 0});
}

std::int64_t exit_judge::ripe_at(const exit_report& end) const {
  using ending = process_exit::ending;
  if (!state_.processes.is_worker(end.process))
    return end.exit.kind == ending::by_signal ? end.at : end.at + failure_settle;
  const auto* status = state_.jobs.find(state_.processes.name(end.process).job);
  // Its job may have failed because a shard has died, which is not known yet.
  if (state_.plan.goes_back && status != nullptr && status->state == job_state::failed)
    return end.at + failure_settle;
  // When all jobs are done, nothing that the coordinator could say makes a difference, and it
  // may not come back.
  if (state_.coordinator.is_away()) return state_.endings.all_over() ? end.at : never;
  return state_.coordinator.has_answered(end.poll) ? end.at : end.at + judge_after_max;
}

// The verdict follows from the states of the jobs after the end. Nodes are expected to live
// until they are told to stop.
exit_judge::verdict exit_judge::verdict_on(const exit_report& end) const {
  const auto& name = state_.processes.name(end.process);
  const auto* status = state_.jobs.find(name.job);
  if (name.role == process_role::aggregator && status != nullptr &&
      status->state == job_state::done)
    return verdict::after_its_job;
  if (name.role != process_role::worker) return verdict::process_died;
  if (end.exit.kind == process_exit::ending::clean) return verdict::as_expected;
  const auto state = status == nullptr ? job_state::waiting : status->state;
  const bool had_finished = status != nullptr && has_finished(*status, name.index);
  if (state == job_state::done || had_finished) return verdict::after_its_job;
  // A signal is never a worker's own word, even where its death has failed the job meanwhile.
  const bool by_signal = end.exit.kind == process_exit::ending::by_signal;
  if (state == job_state::failed && !by_signal) return verdict::job_failed;
  return verdict::process_died;
}

void exit_judge::judge(std::int64_t now, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return;
  const auto is_ripe = [&](const exit_report& end) { return now >= ripe_at(end); };
  auto ripe = unjudged_;
  std::erase_if(ripe, std::not_fn(is_ripe));
  std::erase_if(unjudged_, is_ripe);
  judge_deaths(ripe, now, out);
  for (const auto& end : ripe) {
    const auto judged = verdict_on(end);
    if (judged == verdict::after_its_job && state_.lifecycle.is_active())
      out.all.emplace_back(
          launch_effects::complain{"warning: " + end.exit.text + ", after it had finished"});
    else if (judged == verdict::job_failed)
      state_.job_checks.failure_seen(now);
  }
}

// A death explains failures that came of it, so deaths come first, and those by a signal before
// those by a status: a process that lost its coordinator may be reaped before the coordinator.
// One that nobody comes back from explains all others.
void exit_judge::judge_deaths(const std::vector<exit_report>& ripe, std::int64_t now,
                              launch_effects& out) {
  for (const bool may_come_back : {false, true})
    for (const bool by_signal : {true, false})
      for (const auto& end : ripe) {
        const bool was_signal = end.exit.kind == process_exit::ending::by_signal;
        if (!state_.lifecycle.is_active() || was_signal != by_signal ||
            verdict_on(end) != verdict::process_died ||
            state_.restarts.comes_back(end.process) != may_come_back)
          continue;
        if (state_.coordinator.is_polling() &&
            (state_.scaling.is_surplus(end.process) || others_go_on(end.process)))
          shrink_job(end, out);
        else
          state_.restarts.on_unexpected_exit(end, now, out);
      }
}

// Returns true, under shrink, if as far as is known here somebody else of its job has not
// finished.
bool exit_judge::others_go_on(process_number process) const {
  using state = process_state;
  const auto& processes = state_.processes;
  const auto& name = processes.name(process);
  if (name.role != process_role::worker ||
      state_.loss_rule_of(process) != worker_loss_rule::shrink)
    return false;
  const auto* status = state_.jobs.find(name.job);
  for (process_number i = 0; i < processes.size(); ++i) {
    const auto& other = processes.name(i);
    const bool lives = processes.is(i, state::alive) || processes.is(i, state::starting) ||
                       processes.is(i, state::resting) || processes.is(i, state::waiting);
    if (i == process || !lives || other.role != name.role || other.job != name.job) continue;
    if (status == nullptr || !has_finished(*status, other.index)) return true;
  }
  return false;
}

void exit_judge::shrink_job(const exit_report& end, launch_effects& out) {
  out.all.emplace_back(
      launch_effects::note{"process_died", end.exit.text,
                           fields_of(state_.processes.name(end.process), end.exit.text)});
  out.all.emplace_back(launch_effects::complain{"tidegate: " + end.exit.text + "; job " +
                                                state_.processes.name(end.process).job +
                                                " goes on without it"});
  state_.processes.leave(end.process, out);
}

void exit_judge::left(std::int64_t now, process_number process, const runtime::status& result,
                      launch_effects& out) {
  auto& processes = state_.processes;
  if (!processes.is(process, process_state::leaving)) return;  // everything has ended since
  const auto name = processes.name(process).to_string();
  if (result.ok()) {
    processes.set(process, process_state::unused);
    out.all.emplace_back(
        launch_effects::note{"process_left", name, fields_of(processes.name(process))});
    return;
  }
  processes.set(process, process_state::gone);
  const auto* status = state_.jobs.find(processes.name(process).job);
  const bool over = result.code() == runtime::errc::cancelled ||
                    state_.endings.is_over(process) ||
                    (status != nullptr && has_ended(*status));
  if (!state_.lifecycle.is_active() || over) return;
  state_.restarts.on_unexpected_exit(
      {.process = process,
       .exit = {process_exit::ending::by_signal, name + " cannot leave: " + result.message()},
       .at = now,
       .poll = 0},
      now, out);
}

void exit_judge::forget(const std::string& job) {
  std::erase_if(unjudged_, [&](const exit_report& end) {
    return state_.processes.name(end.process).job == job;
  });
}

bool exit_judge::is_judged(process_number process) const {
  return std::none_of(unjudged_.begin(), unjudged_.end(),
                      [&](const exit_report& end) { return end.process == process; });
}

std::int64_t exit_judge::next_wake() const {
  auto at = never;
  for (const auto& end : unjudged_) at = std::min(at, ripe_at(end));
  return at;
}

}  // namespace tidegate::policies::launching
