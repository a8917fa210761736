// launch_core: everything is ended and begins again where the last checkpoints are.
#include <algorithm>
#include <utility>

#include "policies/launcher/core.hpp"
#include "policies/model/millisecond.hpp"

namespace tidegate::policies {

const restart_spec& launch_core::limits_of(process_role role) const {
  switch (role) {
    case process_role::worker:
      return plan_.supervision.worker;
    case process_role::shard:
    case process_role::replica:
      return plan_.supervision.shard;
    case process_role::aggregator:
      return plan_.supervision.aggregator;
    case process_role::coordinator:
      break;
  }
  return plan_.supervision.coordinator;
}

// Nobody has anything left to say: what counts is on disk.
void launch_core::clear(const std::string& why, launch_effects& out) {
  phase_ = phase::clearing;
  watches_ = poll_wanted_ = healthy_ = away_ = is_back_ = slot_ended_ = false;
  unjudged_.clear();
  resting_.clear();
  unwanted_.clear();
  wanted_.clear();
  slots_wanted_ = plan_.slots;
  failure_seen_at_ = workers_gone_at_ = never;
  out.all.emplace_back(launch_effects::note{"going_back", why});
  out.all.emplace_back(launch_effects::complain{
      "tidegate: " + why + "; all jobs go back to their last checkpoints (epoch " +
      std::to_string(plan_.epoch + 1) + ")"});
  for (const auto process : alive()) out.all.emplace_back(launch_effects::kill{process});
}

void launch_core::go_back(std::int64_t now, launch_effects& out) {
  const bool any_starting = std::find(processes_.begin(), processes_.end(),
                                      process_state::starting) != processes_.end();
  if (!alive().empty() || any_starting || now < back_at_) return;
  back_at_ = never;
  out.all.emplace_back(launch_effects::renew{++plan_.epoch});
}

// A disk that is full may have room again. This epoch may be on record or not: the next one is
// tried.
void launch_core::wait_for_record(std::int64_t now, const runtime::status& failure,
                                  launch_effects& out) {
  const auto& limits = plan_.supervision.coordinator;
  auto why = "the epoch cannot be put on record: " + failure.to_string();
  const auto pause = failed_epochs_.died(now, limits);
  if (!pause) {
    why += "; this has happened " + std::to_string(failed_epochs_.recent_deaths()) +
           " times within " + std::to_string(limits.within_ms) +
           " ms (supervision.coordinator.max_restarts)";
    return begin_end(now, run_outcome::process_died, why, out);
  }
  back_at_ = now + std::max(*pause, limits.backoff_first_ms * millisecond);
  out.all.emplace_back(launch_effects::note{"epoch_not_recorded", why});
  out.all.emplace_back(launch_effects::complain{"tidegate: " + why + "; it is tried again"});
}

void launch_core::renewed(std::int64_t now, const runtime::status& result,
                          launch_effects& out) {
  if (phase_ != phase::clearing) return;
  if (!result.ok()) return wait_for_record(now, result, out);
  std::fill(processes_.begin(), processes_.end(), process_state::waiting);
  // As the plan says: later ones go with their epoch.
  for (process_number i = 0; i < processes_.size(); ++i)
    if (is_beyond(plan_.processes[i], plan_.slots)) processes_[i] = process_state::unused;
  for (process_number i = 0; i < processes_.size(); ++i)
    for (const auto& planned : plan_.jobs)
      if (role_of(i) == process_role::worker && plan_.processes[i].job == planned.name &&
          plan_.processes[i].index >= planned.workers)
        processes_[i] = process_state::unused;
  for (auto& incarnation : incarnations_) ++incarnation;
  for (auto& start : starts_) start.failures = 0;
  for (auto& job : jobs_) {
    auto fresh = job_status();
    fresh.name = job.name;
    fresh.policy = job.policy;
    job = std::move(fresh);
  }
  polls_ = answered_ = 0;
  healthy_ = true;
  phase_ = phase::starting;
  phase_since_ = now;
  start_next(now, out);
}

}  // namespace tidegate::policies
