#include "policies/launcher/last_checkpoint.hpp"

#include <algorithm>
#include <utility>

#include "policies/launcher/state.hpp"

namespace tidegate::policies::launching {

// One that has not made a clock begins where it would begin anyway; what is known may be of
// before its first.
bool last_checkpoint::may_be_saved(const launch_plan::job& planned) const {
  const auto* status = state_.jobs.find(planned.name);
  if (!planned.checkpoints || status == nullptr || has_ended(*status) ||
      status->last_checkpoint || state_.endings.has(planned.name))
    return false;
  return !state_.coordinator.has_answered(poll_) || status->clock_fastest > 0;
}

bool last_checkpoint::any_may_be_saved() const {
  return std::any_of(state_.plan.jobs.begin(), state_.plan.jobs.end(),
                     [this](const auto& job) { return may_be_saved(job); });
}

bool last_checkpoint::begin(std::int64_t now, const std::string& by, launch_effects& out) {
  if (!state_.lifecycle.is(run_phase::running)) return false;
  poll_ = state_.coordinator.next_poll();
  if (!any_may_be_saved()) return false;
  interrupted_by_ = by;
  until_ = now + state_.start_timeout;
  out.all.emplace_back(launch_effects::note{"saving", "interrupted by " + by});
  out.all.emplace_back(launch_effects::complain{
      "tidegate: interrupted by " + by + ": writing a last checkpoint, which may take " +
      state_.plan.start_timeout_text +
      " (cluster.start_timeout); Ctrl-C again to leave at once"});
  ask(out);
  state_.coordinator.want_poll();
  return true;
}

void last_checkpoint::ask(launch_effects& out) const {
  for (const auto& job : state_.plan.jobs)
    if (may_be_saved(job)) out.all.emplace_back(launch_effects::save{job.name});
}

void last_checkpoint::ask_again(launch_effects& out) {
  if (is_awaited()) ask(out);
}

// A run that ends for another reason, or goes back to the checkpoints that there are, has
// nothing to wait for.
void last_checkpoint::check(std::int64_t now, launch_effects& out) {
  if (!is_awaited()) return;
  const auto phase = state_.lifecycle.phase();
  const bool is_running = phase == run_phase::running;
  if (is_running && state_.endings.first_unhandled() != nullptr) return;  // it says why soon
  const bool ends =
      phase == run_phase::leaving || phase >= run_phase::stopping || state_.endings.all_over();
  const bool wanted = is_running && any_may_be_saved();
  if (!ends && wanted && now < until_) return;
  const auto by = std::exchange(interrupted_by_, {});
  until_ = never;
  if (ends) return;
  if (wanted)
    out.all.emplace_back(launch_effects::complain{"tidegate: no last checkpoint within " +
                                                  state_.plan.start_timeout_text +
                                                  " (cluster.start_timeout)"});
  state_.lifecycle.interrupt(now, by, out);
}

}  // namespace tidegate::policies::launching
