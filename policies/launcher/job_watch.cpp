#include "policies/launcher/job_watch.hpp"

#include <string>

#include "policies/launcher/state.hpp"
#include "policies/model/millisecond.hpp"

namespace tidegate::policies::launching {

namespace {

// From the exit of a job's last worker to the coordinator's word that the job is done.
constexpr std::int64_t done_lag_max = 5000 * millisecond;

}  // namespace

void job_watch::check(std::int64_t now, launch_effects& out) {
  if (!state_.lifecycle.is_active() || !state_.coordinator.is_polling()) return;
  const auto* failed = state_.endings.first_unhandled();
  if (failed == nullptr) {
    check_workers(now, out);
    return;
  }
  failure_seen(now);
  if (!state_.exits.all_judged() || now < failure_seen_at_ + failure_settle) return;
  failure_seen_at_ = never;
  state_.endings.fail(now, failed->name, run_outcome::job_failed,
                      "job " + failed->name + " failed: " + failed->failure, out);
}

// A coordinator that has not answered since the last worker exited may know of more.
void job_watch::check_workers(std::int64_t now, launch_effects& out) {
  if (!state_.coordinator.is_well() || !state_.coordinator.has_answered_all()) {
    workers_gone_at_ = never;
    return;
  }
  bool left_alone = false;
  for (const auto& planned : state_.plan.jobs) {
    const auto* status = state_.jobs.find(planned.name);
    if (status == nullptr || status->state == job_state::done ||
        state_.endings.has(planned.name))
      continue;
    const auto gone = workers_gone(planned);
    const bool here = gone > status->workers_finished;
    left_alone = left_alone || here;
    if (here && workers_gone_at_ != never && now >= workers_gone_at_ + done_lag_max) {
      workers_gone_at_ = never;
      state_.endings.fail(now, planned.name, run_outcome::job_failed,
                          "job " + planned.name + " failed: " + std::to_string(gone) +
                              " of its workers have exited, but only " +
                              std::to_string(status->workers_finished) +
                              " have finished; did they call finish()?",
                          out);
      return;
    }
    if (workers_missing(planned) && now >= state_.lifecycle.start_deadline()) {
      state_.endings.fail(now, planned.name, run_outcome::job_failed,
                          "job " + planned.name +
                              " failed: " + std::to_string(status->workers_joined) + " of " +
                              std::to_string(planned.workers) + " workers joined within " +
                              state_.plan.start_timeout_text + " (cluster.start_timeout)",
                          out);
      return;
    }
  }
  if (!left_alone) workers_gone_at_ = never;
  if (left_alone) workers_gone_at_ = std::min(workers_gone_at_, now);
}

std::uint32_t job_watch::workers_gone(const launch_plan::job& job) const {
  const auto& processes = state_.processes;
  std::uint32_t count = 0;
  for (process_number process = 0; process < processes.size(); ++process)
    if (processes.is(process, process_state::gone) && processes.is_worker(process) &&
        processes.name(process).job == job.name && state_.exits.is_judged(process))
      ++count;
  return count;
}

bool job_watch::workers_missing(const launch_plan::job& planned) const {
  const auto* status = state_.jobs.find(planned.name);
  return status != nullptr && status->state == job_state::waiting &&
         !state_.endings.has(planned.name) && status->workers_joined < planned.workers;
}

std::int64_t job_watch::next_wake() const {
  auto at = never;
  const auto& coordinator = state_.coordinator;
  if (!coordinator.is_polling()) return at;
  if (state_.endings.first_unhandled() != nullptr)
    return state_.exits.all_judged() && failure_seen_at_ != never
               ? failure_seen_at_ + failure_settle
               : never;
  if (!coordinator.is_well() || !coordinator.has_answered_all()) return at;
  if (workers_gone_at_ != never) at = workers_gone_at_ + done_lag_max;
  for (const auto& job : state_.plan.jobs)
    if (workers_missing(job)) at = std::min(at, state_.lifecycle.start_deadline());
  return at;
}

}  // namespace tidegate::policies::launching
