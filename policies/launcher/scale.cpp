// launch_core: more or fewer workers than the run began with.
#include <algorithm>
#include <utility>

#include "policies/launcher/core.hpp"
#include "policies/model/millisecond.hpp"
#include "policies/placement/shard_slots.hpp"

namespace tidegate::policies {

namespace {

// From SIGTERM to SIGKILL.
constexpr std::int64_t farewell_max = 2000 * millisecond;

}  // namespace

// Not while somebody is on its way out, who may be wanted again.
bool launch_core::may_scale(const std::string& name) const {
  for (process_number i = 0; i < processes_.size(); ++i)
    if (plan_.processes[i].job == name &&
        (processes_[i] == process_state::leaving || is_unwanted(i)))
      return false;
  return phase_ == phase::running && !away_;
}

bool launch_core::scale(const std::string& name, std::uint32_t workers, launch_effects& out) {
  if (!is_watching()) return false;
  wanted_[name] = workers;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    start_more({process_role::worker, name, rank}, out);
  for (process_number i = 0; i < processes_.size(); ++i) {
    const auto& process = plan_.processes[i];
    if (process.role == process_role::worker && process.job == name && process.index >= workers)
      send_away(i, out);
  }
  return true;
}

void launch_core::start_more(const process_name& name, launch_effects& out) {
  const auto at = std::find(plan_.processes.begin(), plan_.processes.end(), name);
  const auto process = static_cast<process_number>(at - plan_.processes.begin());
  if (at == plan_.processes.end()) {
    plan_.processes.push_back(name);
    processes_.push_back(process_state::unused);
    incarnations_.push_back(0);
    intensity_.emplace_back();
    starts_.emplace_back();
    killed_as_.emplace_back();
  }
  if (processes_[process] != process_state::unused) return;
  processes_[process] = process_state::starting;
  out.all.emplace_back(launch_effects::start{process, ++incarnations_[process], plan_.epoch});
}

bool launch_core::is_beyond(const process_name& name, std::uint32_t slots) const {
  return serves_shard(name.role) && plan_.slots > 0 &&
         slot_process_of(name, plan_.shards).slot >= slots;
}

bool launch_core::scale_shards(std::uint32_t slots, launch_effects& out) {
  if (!is_watching()) return false;
  slots_wanted_ = slots;
  start_slots(out);
  return true;
}

// Those of slots that are wanted.
void launch_core::start_slots(launch_effects& out) {
  for (const auto& name : processes_of(slots_wanted_, plan_.shards, plan_.replicas))
    start_more(name, out);
}

// It may say goodbye to whatever it uses; then its job goes on without it.
void launch_core::send_away(process_number process, launch_effects& out) {
  const auto state = processes_[process];
  if (state == process_state::resting) {
    std::erase_if(resting_, [&](const rest& resting) { return resting.process == process; });
    processes_[process] = process_state::leaving;
    out.all.emplace_back(launch_effects::leave{process});
  }
  const bool lives = state == process_state::alive || state == process_state::starting;
  if (!lives || is_unwanted(process)) return;
  unwanted_.push_back({process, never});
  out.all.emplace_back(launch_effects::terminate{process});
}

// Of a job that goes as well without it.
bool launch_core::is_extra(process_number process) const {
  const auto& process_name = plan_.processes[process];
  return phase_ == phase::running && process_name.role == process_role::worker &&
         std::any_of(plan_.jobs.begin(), plan_.jobs.end(), [&](const auto& job) {
           return job.name == process_name.job && process_name.index >= job.workers;
         });
}

// It has ended, which has not been judged yet.
bool launch_core::is_surplus(process_number process) const {
  const auto& process_name = plan_.processes[process];
  const auto at = wanted_.find(process_name.job);
  return process_name.role == process_role::worker && at != wanted_.end() &&
         process_name.index >= at->second;
}

bool launch_core::is_unwanted(process_number process) const {
  return std::any_of(unwanted_.begin(), unwanted_.end(),
                     [&](const rest& resting) { return resting.process == process; });
}

void launch_core::end_unwanted(std::int64_t now, launch_effects& out) {
  for (auto& resting : std::exchange(unwanted_, {})) {
    const auto state = processes_[resting.process];
    if (state == process_state::gone) {
      processes_[resting.process] = process_state::leaving;
      out.all.emplace_back(launch_effects::leave{resting.process});
      continue;
    }
    if (resting.until == never) resting.until = now + farewell_max;
    if (now >= resting.until) {
      resting.until = now + farewell_max;
      out.all.emplace_back(launch_effects::kill{resting.process});
    }
    unwanted_.push_back(resting);
  }
}

}  // namespace tidegate::policies
