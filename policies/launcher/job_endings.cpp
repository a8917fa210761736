#include "policies/launcher/job_endings.hpp"

#include <algorithm>
#include <utility>

#include "policies/launcher/state.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::launching {

using runtime::is_planted;
using runtime::planted_bug;

job_endings::job_endings(launcher_state& state) : state_(state) {
  for (const auto& job : state.plan.cancelled)
    endings_.push_back({.job = job,
                        .reason = "job " + job + " was cancelled before the run was resumed",
                        .is_cancelled = true});
  for (process_number process = 0; process < state.processes.size(); ++process)
    if (is_over(process)) state.processes.set(process, process_state::unused);
}

void job_endings::fail(std::int64_t now, const std::string& job, run_outcome as,
                       const std::string& reason, launch_effects& out) {
  if (state_.plan.jobs.size() == 1) return state_.lifecycle.end(now, as, reason, out);
  if (!has(job)) add({.job = job, .outcome = as, .reason = reason}, out);
}

void job_endings::cancel(const std::string& job, const std::string& reason,
                         launch_effects& out) {
  if (!has(job)) add({.job = job, .reason = reason, .is_cancelled = true}, out);
}

void job_endings::add(ending added, launch_effects& out) {
  TIDEGATE_RARE("launcher: a job ends before the run does");
  out.all.emplace_back(launch_effects::note{"job_ending",
                                            added.job + ": " + added.reason,
                                            {.job = added.job, .cause = added.reason}});
  const auto& jobs = state_.jobs.all();
  const bool others_go_on = std::any_of(jobs.begin(), jobs.end(), [&](const job_status& job) {
    return job.name != added.job && !has_ended(job) && !has(job.name);
  });
  out.all.emplace_back(launch_effects::complain{"tidegate: " + added.reason +
                                                (others_go_on ? "; other jobs go on" : "")});
  state_.exits.forget(added.job);
  endings_.push_back(std::move(added));
}

void job_endings::check(std::int64_t now, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return;
  for (auto& each : endings_) {
    const auto* status = state_.jobs.find(each.job);
    if (each.at == stage::wanted && state_.coordinator.is_polling()) {
      each.at = stage::asked;
      if (status == nullptr || !has_ended(*status))
        out.all.emplace_back(launch_effects::fail_job{each.job, each.reason});
    }
    if (each.at == stage::asked && status != nullptr && status->state == job_state::failed)
      begin(now, each, out);
    if (each.at == stage::ending) end_processes(now, each, out);
  }
  // It was done before the coordinator heard of this.
  std::erase_if(endings_, [&](const ending& each) {
    const auto* status = state_.jobs.find(each.job);
    const bool was_done = status != nullptr && status->state == job_state::done;
    if (was_done && each.is_cancelled) out.all.emplace_back(launch_effects::was_done{each.job});
    return was_done;
  });
}

// Its workers hear from the shards that the job has ended, and leave.
void job_endings::begin(std::int64_t now, ending& of, launch_effects& out) {
  if (of.is_cancelled) out.all.emplace_back(launch_effects::record_cancelled{of.job});
  of.at = stage::ending;
  of.terminate_at = now + end_terminate_after;
  of.kill_at = now + end_kill_after;
  auto& processes = state_.processes;
  for (process_number process = 0; process < processes.size(); ++process)
    if (processes.name(process).job == of.job &&
        processes.is(process, process_state::resting)) {
      state_.restarts.forget(process);
      processes.set(process, process_state::gone);
    }
}

void job_endings::end_processes(std::int64_t now, ending& of, launch_effects& out) {
  if (now >= of.terminate_at) {
    of.terminate_at = never;
    for (const auto process : alive(of))
      out.all.emplace_back(launch_effects::terminate{process});
  }
  if (now >= of.kill_at) {
    of.kill_at = never;
    state_.processes.kill_late(alive(of), out);
  }
}

std::vector<process_number> job_endings::alive(const ending& of) const {
  auto left = state_.processes.alive();
  std::erase_if(left,
                [&](auto process) { return state_.processes.name(process).job != of.job; });
  return left;
}

void job_endings::begin_anew() {
  if (is_planted(planted_bug::ended_job_not_told_in_the_next_epoch)) return;
  for (auto& each : endings_) {
    each.at = stage::wanted;
    each.terminate_at = each.kill_at = never;
  }
}

const job_endings::ending* job_endings::find(const std::string& job) const {
  const auto at = std::find_if(endings_.begin(), endings_.end(),
                               [&](const ending& each) { return each.job == job; });
  return at == endings_.end() ? nullptr : &*at;
}

bool job_endings::is_over(process_number process) const {
  const auto& job = state_.processes.name(process).job;
  return !job.empty() && has(job);
}

bool job_endings::is_cancelled(const std::string& job) const {
  const auto* found = find(job);
  return found != nullptr && found->is_cancelled;
}

const job_status* job_endings::first_unhandled() const {
  const auto& jobs = state_.jobs.all();
  const auto at = std::find_if(jobs.begin(), jobs.end(), [this](const job_status& job) {
    return job.state == job_state::failed && !has(job.name);
  });
  return at == jobs.end() ? nullptr : &*at;
}

bool job_endings::all_over() const {
  const auto& jobs = state_.jobs.all();
  return !jobs.empty() && std::all_of(jobs.begin(), jobs.end(), [this](const job_status& job) {
    return job.state == job_state::done || (job.state == job_state::failed && has(job.name));
  });
}

run_outcome job_endings::outcome() const {
  if (endings_.empty()) return run_outcome::done;
  const bool died = std::any_of(endings_.begin(), endings_.end(), [](const ending& each) {
    return each.outcome == run_outcome::process_died;
  });
  return died ? run_outcome::process_died : run_outcome::job_failed;
}

std::string job_endings::reason() const {
  return endings_.empty() ? std::string() : endings_.front().reason;
}

std::int64_t job_endings::next_wake() const {
  auto at = never;
  for (const auto& each : endings_) at = std::min({at, each.terminate_at, each.kill_at});
  return at;
}

}  // namespace tidegate::policies::launching
