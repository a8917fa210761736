#include "policies/launcher/join_watch.hpp"

#include <algorithm>

#include "policies/launcher/state.hpp"

namespace tidegate::policies::launching {

join_watch::join_watch(launcher_state& state)
    : state_(state), starts_(state.plan.processes.size()) {}

// Returns the last one of this rank that has asked the coordinator to let it in, as last told.
std::uint32_t join_watch::joined_incarnation(process_number process) const {
  const auto& name = state_.processes.name(process);
  const auto* status = state_.jobs.find(name.job);
  if (status == nullptr || name.index >= status->incarnations.size()) return 0;
  return status->incarnations[name.index];
}

bool join_watch::has_joined(process_number process) const {
  return joined_incarnation(process) >= state_.processes.incarnation(process);
}

// Returns true only if the coordinator has said so since the end.
bool join_watch::failed_before_joining(const exit_report& end) const {
  const auto& coordinator = state_.coordinator;
  return state_.processes.is_worker(end.process) &&
         end.exit.kind == process_exit::ending::bad_status && coordinator.is_polling() &&
         coordinator.is_well() && coordinator.has_answered(end.poll) &&
         joined_incarnation(end.process) == 0;
}

bool join_watch::may_start_again(const exit_report& end) {
  return !failed_before_joining(end) ||
         ++starts_[end.process].failures <= unjoined_restarts_max;
}

void join_watch::forget_failures() {
  for (auto& start : starts_) start.failures = 0;
}

// Returns when it is to have joined; `never` for whoever has, or is not waited for. While
// nobody of its job has joined, the whole job has one deadline: see job_watch.
std::int64_t join_watch::deadline(process_number process) const {
  const auto& processes = state_.processes;
  if (!processes.is_worker(process) || !processes.is(process, process_state::alive) ||
      !state_.coordinator.is_polling() || !state_.coordinator.is_well() ||
      processes.is_killed(process) || state_.scaling.is_unwanted(process))
    return never;
  const auto* status = state_.jobs.find(processes.name(process).job);
  if (status == nullptr || status->state != job_state::running || has_joined(process))
    return never;
  return std::max(starts_[process].at, state_.lifecycle.since()) + state_.start_timeout;
}

// Whatever holds a worker up before it has joined, no heartbeat tells of it.
void join_watch::check(std::int64_t now, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return;
  auto& processes = state_.processes;
  for (process_number process = 0; process < processes.size(); ++process) {
    if (deadline(process) > now) continue;
    const auto late =
        "not joined within " + state_.plan.start_timeout_text + " (cluster.start_timeout)";
    out.all.emplace_back(launch_effects::note{
        "process_hangs", processes.name(process).to_string() + " has " + late,
        fields_of(processes.name(process), late)});
    processes.kill(process, "it had " + late, out);
  }
}

std::int64_t join_watch::next_wake() const {
  auto at = never;
  for (process_number process = 0; process < state_.processes.size(); ++process)
    at = std::min(at, deadline(process));
  return at;
}

}  // namespace tidegate::policies::launching
