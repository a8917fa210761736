// run_shell: requests for other numbers of workers and shards while the cluster runs.
#include <utility>

#include "launch/shell/run_shell.hpp"

namespace tidegate::launch {

void run_shell::ask_to_scale() {
  if (scalings_.empty() || scalings_.front().asked) return;
  auto& next = scalings_.front();
  const auto* job = core_.job(next.wanted.job);
  const bool over = job != nullptr && (job->state == policies::job_state::done ||
                                       job->state == policies::job_state::failed);
  if (over) return scaled({runtime::errc::cancelled, "job " + next.wanted.job + " has ended"});
  const bool may =
      next.of_shards() ? core_.may_scale_shards() : core_.may_scale(next.wanted.job);
  if (!world_.watches() || !may) return;  // a later turn asks
  next.asked = true;
  ask({.about = next.of_shards() ? launch_question::kind::scale_shards
                                 : launch_question::kind::scale,
       .name = {.job = next.wanted.job},
       .incarnation = 0,
       .number = next.wanted.number});
}

void run_shell::scaled(const runtime::status& result) {
  const auto [wanted, asked] = std::move(scalings_.front());
  scalings_.pop_front();
  if (!result.ok()) {
    world_.answer(wanted.asker, "error " + result.message());
    return ask_to_scale();
  }
  const bool goes_on = wanted.job.empty() ? core_.scale_shards(wanted.number, todo_)
                                          : core_.scale(wanted.job, wanted.number, todo_);
  world_.answer(wanted.asker, goes_on ? "ok"
                                      : "error the run is being ended, or goes back to a "
                                        "checkpoint");
  ask_to_scale();
}

}  // namespace tidegate::launch
