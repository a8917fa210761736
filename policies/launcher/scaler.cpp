#include "policies/launcher/scaler.hpp"

#include <algorithm>
#include <utility>

#include "policies/launcher/state.hpp"
#include "policies/model/millisecond.hpp"
#include "policies/placement/shard_map.hpp"

namespace tidegate::policies::launching {

namespace {

// From SIGTERM to SIGKILL.
constexpr std::int64_t farewell_max = 2000 * millisecond;

}  // namespace

scaler::scaler(launcher_state& state) : state_(state), slots_wanted_(state.plan.slots) {}

void scaler::begin_anew() {
  unwanted_.clear();
  wanted_.clear();
  slots_wanted_ = state_.plan.slots;
  slot_ended_ = false;
}

// A job is not scaled while a process of it is on its way out, which may be wanted again.
bool scaler::may_scale(const std::string& job) const {
  const auto& processes = state_.processes;
  for (process_number process = 0; process < processes.size(); ++process)
    if (processes.name(process).job == job &&
        (processes.is(process, process_state::leaving) || is_unwanted(process)))
      return false;
  return may_scale_shards();
}

bool scaler::may_scale_shards() const {
  return state_.lifecycle.is(run_phase::running) && !state_.coordinator.is_away();
}

bool scaler::scale(const std::string& job, std::uint32_t workers, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return false;
  wanted_[job] = workers;
  for (std::uint32_t rank = 0; rank < workers; ++rank)
    start_if_unused({.role = process_role::worker, .job = job, .index = rank}, out);
  const auto& processes = state_.processes;
  for (process_number process = 0; process < processes.size(); ++process) {
    const auto& name = processes.name(process);
    if (name.role == process_role::worker && name.job == job && name.index >= workers)
      send_away(process, out);
  }
  return true;
}

void scaler::start_if_unused(const process_name& name, launch_effects& out) {
  auto& processes = state_.processes;
  const auto& names = processes.names();
  const auto at = std::find(names.begin(), names.end(), name);
  const auto process = static_cast<process_number>(at - names.begin());
  if (at == names.end()) state_.add_process(name);
  if (!processes.is(process, process_state::unused)) return;
  processes.next_incarnation(process);
  processes.start(process, out, name.role == process_role::worker);
}

bool scaler::is_beyond(const process_name& name, std::uint32_t slots) const {
  return serves_shard(name.role) && state_.plan.slots > 0 &&
         slot_process_of(name, state_.plan.shards).slot >= slots;
}

bool scaler::scale_shards(std::uint32_t slots, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return false;
  slots_wanted_ = slots;
  start_slots(out);
  return true;
}

// Starts the processes of all slots that are wanted, where they do not run.
void scaler::start_slots(launch_effects& out) {
  for (const auto& name : processes_of(slots_wanted_, state_.plan.shards, state_.plan.replicas))
    start_if_unused(name, out);
}

void scaler::slot_ended(process_number process) {
  state_.processes.set(process, process_state::unused);
  slot_ended_ = true;
}

// The process may say goodbye to whatever it uses; then its job goes on without it.
void scaler::send_away(process_number process, launch_effects& out) {
  auto& processes = state_.processes;
  const bool lives = processes.is(process, process_state::alive) ||
                     processes.is(process, process_state::starting);
  if (processes.is(process, process_state::resting)) {
    state_.restarts.forget(process);
    processes.leave(process, out);
  }
  if (!lives || is_unwanted(process)) return;
  unwanted_.push_back({process, never});
  out.all.emplace_back(launch_effects::terminate{process});
}

bool scaler::is_extra(process_number process) const {
  const auto& name = state_.processes.name(process);
  const auto& jobs = state_.plan.jobs;
  return state_.lifecycle.is(run_phase::running) && name.role == process_role::worker &&
         std::any_of(jobs.begin(), jobs.end(), [&](const auto& job) {
           return job.name == name.job && name.index >= job.workers;
         });
}

bool scaler::is_surplus(process_number process) const {
  const auto& name = state_.processes.name(process);
  const auto at = wanted_.find(name.job);
  return name.role == process_role::worker && at != wanted_.end() && name.index >= at->second;
}

bool scaler::is_unwanted(process_number process) const {
  return std::any_of(unwanted_.begin(), unwanted_.end(),
                     [&](const auto& leaver) { return leaver.process == process; });
}

void scaler::go_on(std::int64_t now, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return;
  end_unwanted(now, out);
  if (!slot_ended_ || !state_.coordinator.is_polling()) return;
  slot_ended_ = false;
  start_slots(out);
}

void scaler::end_unwanted(std::int64_t now, launch_effects& out) {
  for (auto& leaver : std::exchange(unwanted_, {})) {
    if (state_.processes.is(leaver.process, process_state::gone)) {
      state_.processes.leave(leaver.process, out);
      continue;
    }
    if (leaver.until == never) leaver.until = now + farewell_max;
    if (now >= leaver.until) {
      leaver.until = now + farewell_max;
      out.all.emplace_back(launch_effects::kill{leaver.process});
    }
    unwanted_.push_back(leaver);
  }
}

std::int64_t scaler::next_wake() const {
  auto at = never;
  for (const auto& leaver : unwanted_) at = std::min(at, leaver.until);
  return at;
}

}  // namespace tidegate::policies::launching
