// launch_core: jobs that have checkpoints write one more before an interrupt ends the run.
#include <algorithm>
#include <utility>

#include "policies/launcher/core.hpp"

namespace tidegate::policies {

// One that has not made a clock begins where it would begin anyway; what is known may be of
// before its first.
bool launch_core::may_be_saved(const launch_plan::job& planned) const {
  const auto* status = job(planned.name);
  if (!planned.checkpoints || status == nullptr || has_ended(*status) ||
      status->last_checkpoint)
    return false;
  return answered_ < save_poll_ || status->clock_fastest > 0;
}

bool launch_core::begin_saving(std::int64_t now, const std::string& by, launch_effects& out) {
  if (phase_ != phase::running) return false;
  save_poll_ = polls_ + 1;
  if (std::none_of(plan_.jobs.begin(), plan_.jobs.end(),
                   [this](const auto& job) { return may_be_saved(job); }))
    return false;
  interrupted_by_ = by;
  save_until_ = now + start_timeout_;
  out.all.emplace_back(launch_effects::note{"saving", "interrupted by " + by});
  out.all.emplace_back(launch_effects::complain{
      "tidegate: interrupted by " + by + ": writing a last checkpoint, which may take " +
      plan_.start_timeout_text + " (cluster.start_timeout); Ctrl-C again to leave at once"});
  ask_to_save(out);
  poll_wanted_ = true;
  return true;
}

void launch_core::ask_to_save(launch_effects& out) {
  for (const auto& job : plan_.jobs)
    if (may_be_saved(job)) out.all.emplace_back(launch_effects::save{job.name});
}

// A run that ends for another reason, or goes back to the checkpoints that there are, has
// nothing to wait for.
void launch_core::check_saving(std::int64_t now, launch_effects& out) {
  if (interrupted_by_.empty()) return;
  if (phase_ == phase::running && first_failed() != nullptr) return;  // it says why soon
  const bool ends = phase_ == phase::leaving || phase_ >= phase::stopping || all_done();
  const bool wanted = phase_ == phase::running &&
                      std::any_of(plan_.jobs.begin(), plan_.jobs.end(),
                                  [this](const auto& job) { return may_be_saved(job); });
  if (!ends && wanted && now < save_until_) return;
  const auto by = std::exchange(interrupted_by_, {});
  save_until_ = never;
  if (ends) return;
  if (wanted)
    out.all.emplace_back(launch_effects::complain{"tidegate: no last checkpoint within " +
                                                  plan_.start_timeout_text +
                                                  " (cluster.start_timeout)"});
  is_interrupted_ = true;
  begin_end(now, run_outcome::job_failed, "interrupted by " + by, out);
}

}  // namespace tidegate::policies
