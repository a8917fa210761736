// launch_core: workers that have not joined, and what becomes of them.
#include <algorithm>

#include "policies/launcher/core.hpp"

namespace tidegate::policies {

// The last one of this rank that has asked the coordinator to let it in, as last told.
std::uint32_t launch_core::joined_incarnation(process_number process) const {
  const auto& name = plan_.processes[process];
  const auto* status = job(name.job);
  if (status == nullptr || name.index >= status->incarnations.size()) return 0;
  return status->incarnations[name.index];
}

// Returns true only if the coordinator has said so since the end.
bool launch_core::failed_before_joining(const unjudged& end) const {
  return role_of(end.process) == process_role::worker &&
         end.exit.kind == process_exit::ending::bad_status && watches_ && healthy_ && !away_ &&
         answered_ >= end.poll && joined_incarnation(end.process) == 0;
}

bool launch_core::may_start_again(const unjudged& end) {
  return !failed_before_joining(end) ||
         ++starts_[end.process].failures <= unjoined_restarts_max;
}

// When it is to have joined; `never` for whoever has, or is not waited for. While nobody of its
// job has joined, the whole job has one deadline: see workers_missing().
std::int64_t launch_core::join_deadline(process_number process) const {
  const auto& name = plan_.processes[process];
  if (name.role != process_role::worker || processes_[process] != process_state::alive ||
      !watches_ || !healthy_ || away_ || !killed_as_[process].empty() || is_unwanted(process))
    return never;
  const auto* status = job(name.job);
  if (status == nullptr || status->state != job_state::running ||
      joined_incarnation(process) >= incarnations_[process])
    return never;
  return std::max(starts_[process].at, phase_since_) + start_timeout_;
}

// Whatever holds it up before it has joined, no heartbeat tells of it.
void launch_core::check_joins(std::int64_t now, launch_effects& out) {
  if (!is_watching()) return;
  for (process_number process = 0; process < processes_.size(); ++process) {
    if (join_deadline(process) > now) continue;
    const auto late =
        "not joined within " + plan_.start_timeout_text + " (cluster.start_timeout)";
    killed_as_[process] = "it had " + late;
    out.all.emplace_back(launch_effects::note{
        "process_hangs", plan_.processes[process].to_string() + " has " + late});
    out.all.emplace_back(launch_effects::kill{process});
  }
}

}  // namespace tidegate::policies
