#include "policies/launcher/rollback.hpp"

#include <algorithm>

#include "policies/launcher/state.hpp"
#include "policies/model/millisecond.hpp"

namespace tidegate::policies::launching {

rollback::rollback(launcher_state& state) : state_(state), epoch_(state.plan.epoch) {}

// Nobody has anything left to say: what counts is on disk.
void rollback::begin(std::int64_t at, const std::string& why, launch_effects& out) {
  back_at_ = at;
  state_.lifecycle.begin_clearing();
  state_.coordinator.stop_polls();
  state_.exits.forget();
  state_.restarts.forget();
  state_.scaling.begin_anew();
  state_.job_checks.forget();
  out.all.emplace_back(launch_effects::note{"going_back", why, {.cause = why}});
  out.all.emplace_back(launch_effects::complain{
      "tidegate: " + why + "; all jobs go back to their last checkpoints (epoch " +
      std::to_string(epoch_ + 1) + ")"});
  for (const auto process : state_.processes.alive())
    out.all.emplace_back(launch_effects::kill{process});
}

void rollback::go_on(std::int64_t now, launch_effects& out) {
  if (!state_.lifecycle.is(run_phase::clearing)) return;
  if (!state_.processes.alive().empty() || state_.processes.any_starting() || now < back_at_)
    return;
  back_at_ = never;
  out.all.emplace_back(launch_effects::renew{++epoch_});
}

// A disk that is full may have room again. This epoch may be on record or not: the next one is
// tried.
void rollback::wait_for_record(std::int64_t now, const runtime::status& failure,
                               launch_effects& out) {
  const auto& limits = state_.plan.supervision.coordinator;
  auto why = "the epoch cannot be put on record: " + failure.to_string();
  const auto pause = failed_epochs_.died(now, limits);
  if (!pause) {
    why += "; this has happened " + std::to_string(failed_epochs_.recent_deaths()) +
           " times within " + std::to_string(limits.within_ms) +
           " ms (supervision.coordinator.max_restarts)";
    return state_.lifecycle.end(now, run_outcome::process_died, why, out);
  }
  back_at_ = now + std::max(*pause, limits.backoff_first_ms * millisecond);
  out.all.emplace_back(launch_effects::note{"epoch_not_recorded", why, {.cause = why}});
  out.all.emplace_back(launch_effects::complain{"tidegate: " + why + "; it is tried again"});
}

void rollback::renewed(std::int64_t now, const runtime::status& result, launch_effects& out) {
  if (!state_.lifecycle.is(run_phase::clearing)) return;
  if (!result.ok()) return wait_for_record(now, result, out);
  state_.processes.begin_anew();
  state_.joins.forget_failures();
  state_.jobs.begin_anew();
  state_.endings.begin_anew();
  state_.coordinator.begin_anew();
  state_.lifecycle.begin(now, out);
}

std::int64_t rollback::next_wake() const {
  const bool nobody_lives = state_.lifecycle.is(run_phase::clearing) &&
                            state_.processes.alive().empty() &&
                            !state_.processes.any_starting();
  return nobody_lives ? back_at_ : never;
}

}  // namespace tidegate::policies::launching
