#include "policies/launcher/run_lifecycle.hpp"

#include <algorithm>
#include <utility>

#include "policies/launcher/state.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies::launching {

namespace {

// After success nothing is in a hurry.
constexpr std::int64_t stop_terminate_after = 2000 * millisecond;
constexpr std::int64_t stop_kill_after = 4000 * millisecond;

}  // namespace

void run_lifecycle::begin(std::int64_t now, launch_effects& out) {
  phase_ = run_phase::starting;
  since_ = now;
  start_next(now, out);
}

// Processes are started one after the other, so that the first that does not start is the last
// that was tried. All but the coordinator wait until hosts are known to reach each other.
void run_lifecycle::start_next(std::int64_t now, launch_effects& out) {
  const auto next = state_.processes.first(process_state::waiting);
  if (next > 0 && !state_.survey.is_done()) return;
  if (next < state_.processes.size()) {
    last_in_turn_ = next;
    state_.processes.start(next, out);
    return;
  }
  phase_ = run_phase::running;
  since_ = now;
  state_.coordinator.begin_polls(out);
}

// The others wait for the coordinator to be ready; one that comes back is out of turn.
void run_lifecycle::started(std::int64_t now, process_number process, launch_effects& out) {
  if (process == 0) is_ready_ = false;
  if (process != 0 && process == last_in_turn_ && phase_ == run_phase::starting)
    start_next(now, out);
  // It was on its way when everything was to end.
  if (!is_active() || state_.endings.is_over(process))
    out.all.emplace_back(launch_effects::kill{process});
}

void run_lifecycle::coordinator_ready(std::int64_t now, launch_effects& out) {
  is_ready_ = true;
  if (phase_ == run_phase::starting) start_next(now, out);
}

void run_lifecycle::surveyed(std::int64_t now, launch_effects& out) {
  if (phase_ == run_phase::starting && is_ready_) start_next(now, out);
}

void run_lifecycle::coordinator_unusable(std::int64_t now, const std::string& why,
                                         launch_effects& out) {
  if (phase_ == run_phase::starting) end(now, run_outcome::job_failed, why, out);
}

void run_lifecycle::interrupted(std::int64_t now, const std::string& by, bool saves,
                                launch_effects& out) {
  const bool asked_before = phase_ == run_phase::ending || state_.saving.is_awaited();
  if (saves && !asked_before && state_.saving.begin(now, by, out)) return;
  if (phase_ != run_phase::ending) interrupt(now, by, out);
  if (asked_before) kill_at_ = now;
}

void run_lifecycle::interrupt(std::int64_t now, const std::string& by, launch_effects& out) {
  is_interrupted_ = true;
  end(now, run_outcome::job_failed, "interrupted by " + by, out);
}

void run_lifecycle::advance(std::int64_t now, launch_effects& out) {
  if (phase_ == run_phase::starting && now >= start_deadline())
    end(now, run_outcome::job_failed,
        (state_.processes.is(last_in_turn_, process_state::resting)
             ? state_.processes.name(last_in_turn_).to_string() + " could not be started"
         : is_ready_ && !state_.survey.is_done() ? state_.survey.waits_for()
                                                 : "the coordinator was not ready") +
            " within " + state_.plan.start_timeout_text + " (cluster.start_timeout)",
        out);
  if (phase_ == run_phase::running && state_.endings.all_over()) {
    phase_ = run_phase::leaving;
    outcome_ = state_.endings.outcome();
    reason_ = state_.endings.reason();
    // What a worker may take to join it may take to leave.
    terminate_at_ = now + state_.start_timeout;
    kill_at_ = terminate_at_ + (stop_kill_after - stop_terminate_after);
  }
  auto left = to_leave();
  if (phase_ == run_phase::leaving && state_.exits.all_judged() && left.empty()) {
    phase_ = run_phase::stopping;
    left = to_leave();
    terminate_at_ = now + stop_terminate_after;
    kill_at_ = now + stop_kill_after;
    out.all.emplace_back(launch_effects::stop_cluster{});
  }
  if (now >= terminate_at_) terminate(left, out);
  if (now >= kill_at_) kill(left, out);
}

// Nodes stay until the last worker has left.
std::vector<process_number> run_lifecycle::to_leave() const {
  auto left = state_.processes.alive();
  if (phase_ == run_phase::leaving)
    std::erase_if(left, [&](auto process) { return !state_.processes.is_worker(process); });
  return left;
}

void run_lifecycle::terminate(const std::vector<process_number>& left, launch_effects& out) {
  terminate_at_ = never;
  for (const auto process : left) {
    if (phase_ == run_phase::leaving)
      out.all.emplace_back(
          launch_effects::note{"worker_lingers",
                               state_.processes.name(process).to_string() +
                                   " has not left within " + state_.plan.start_timeout_text +
                                   " of the end of all jobs (cluster.start_timeout)",
                               fields_of(state_.processes.name(process))});
    out.all.emplace_back(launch_effects::terminate{process});
  }
}

void run_lifecycle::kill(const std::vector<process_number>& left, launch_effects& out) {
  kill_at_ = never;
  state_.processes.kill_late(left, out);
}

void run_lifecycle::end(std::int64_t now, run_outcome outcome, const std::string& reason,
                        launch_effects& out) {
  TIDEGATE_ASSERT(phase_ != run_phase::ending, "one reason ends a run");
  phase_ = run_phase::ending;
  outcome_ = outcome;
  reason_ = reason;
  terminate_at_ = now + end_terminate_after;
  kill_at_ = now + end_kill_after;
  state_.exits.forget();
  state_.restarts.forget();
  state_.scaling.forget_unwanted();
  out.all.emplace_back(launch_effects::note{"ending", reason, {.cause = reason}});
  out.all.emplace_back(launch_effects::complain{"tidegate: " + reason});
  if (!state_.coordinator.is_polling()) return;
  launch_effects::stop_cluster stop;
  for (const auto& job : state_.jobs.all())
    if (!has_ended(job)) stop.failures.emplace_back(job.name, reason);
  out.all.emplace_back(std::move(stop));
}

void run_lifecycle::conclude_if_over(launch_effects& out) {
  if (!is_over() || concluded_) return;
  concluded_ = true;
  out.all.emplace_back(launch_effects::conclude{outcome(), reason_});
}

bool run_lifecycle::is_over() const {
  return phase_ >= run_phase::stopping && state_.processes.alive().empty() &&
         !state_.processes.any_starting() && state_.spares.empty();
}

std::int64_t run_lifecycle::start_deadline() const {
  return since_ + state_.start_timeout;
}

std::int64_t run_lifecycle::next_wake() const {
  const auto at = std::min(terminate_at_, kill_at_);
  return is_active() && !state_.coordinator.is_polling() ? std::min(at, start_deadline()) : at;
}

bool run_lifecycle::is_interrupted() const {
  return is_interrupted_ && !state_.endings.all_over();
}

run_outcome run_lifecycle::outcome() const {
  return state_.jobs.all_done() ? run_outcome::done : outcome_;
}

std::vector<job_status> run_lifecycle::result() const {
  auto jobs = state_.jobs.all();
  for (auto& job : jobs) {
    // A job that is told of the end by its coordinator has failed for that reason.
    const bool by_the_end = job.state == job_state::failed && job.failure == reason_;
    if (state_.endings.is_cancelled(job.name) && job.state != job_state::done)
      job.state = job_state::cancelled;
    if (job.state == job_state::cancelled ||
        (has_ended(job) && !(is_interrupted_ && by_the_end)))
      continue;
    job.state = is_interrupted_ ? job_state::interrupted : job_state::failed;
    job.failure = reason_;
  }
  return jobs;
}

}  // namespace tidegate::policies::launching
