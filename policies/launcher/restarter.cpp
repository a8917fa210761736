#include "policies/launcher/restarter.hpp"

#include <algorithm>
#include <utility>

#include "policies/launcher/state.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::launching {

restarter::restarter(launcher_state& state)
    : state_(state), intensities_(state.plan.processes.size()) {}

void restarter::could_not_start(std::int64_t now, process_number process,
                                const std::string& why, launch_effects& out) {
  auto& processes = state_.processes;
  processes.could_not_start(process);
  if (!state_.lifecycle.is_active()) return;  // of several in one turn
  if (state_.endings.is_over(process)) return;
  const auto text = processes.name(process).to_string() + " could not be started: " + why;
  if (state_.scaling.is_extra(process)) {
    out.all.emplace_back(launch_effects::complain{"tidegate: " + text});
    processes.leave(process, out);
    return;
  }
  // One that comes back may want again what is short for a while.
  if ((processes.incarnation(process) > 1 ||
       state_.scaling.is_beyond(processes.name(process), state_.plan.slots)) &&
      comes_back(process))
    return on_unexpected_exit({.process = process,
                               .exit = {process_exit::ending::bad_status, text},
                               .at = now,
                               .poll = 0},
                              now, out);
  state_.lifecycle.end(now, run_outcome::job_failed, text, out);
}

bool restarter::comes_back(process_number process) const {
  const auto& name = state_.processes.name(process);
  // At the end it is there for workers that have not heard that they are done.
  if (name.role == process_role::coordinator)
    return state_.lifecycle.phase() <= run_phase::running ||
           (state_.lifecycle.is(run_phase::leaving) && state_.processes.any_worker_alive());
  const auto* status = state_.jobs.find(name.job);
  const bool goes_on = !state_.endings.is_over(process) &&
                       (status == nullptr || status->state == job_state::waiting ||
                        status->state == job_state::running);
  if (serves_shard(name.role)) return state_.plan.replicated;
  if (name.role == process_role::aggregator) return goes_on;
  // One that its job does not let go is needed, whatever the rule.
  return name.role == process_role::worker && goes_on &&
         (workers_come_back(state_.loss_rule_of(process)) ||
          state_.scaling.is_surplus(process));
}

void restarter::on_unexpected_exit(const exit_report& end, std::int64_t now,
                                   launch_effects& out) {
  const auto process = end.process;
  const bool is_worker = state_.processes.is_worker(process);
  // What a coordinator says before it listens is about its machine, and would be said again.
  const bool cannot_begin = state_.lifecycle.is(run_phase::starting) &&
                            end.exit.kind != process_exit::ending::by_signal;
  const bool alone = comes_back(process) && !cannot_begin;
  if (alone && back_off(end, out)) return;
  if (!is_worker && state_.endings.all_over()) {
    out.all.emplace_back(
        launch_effects::complain{"warning: " + end.exit.text + ", after all jobs were done"});
    return;
  }
  if (state_.plan.goes_back && !is_worker) {
    // A coordinator that dies again and again may do so because of its journal: in another
    // epoch it begins without one.
    const auto& limits = limits_of(state_.processes.role(process));
    const auto pause = alone ? state_.rollbacks.pause_after_death(end.at, limits)
                             : intensities_[process].died(end.at, limits);
    if (pause) {
      if (alone) intensities_[process] = {};
      return state_.rollbacks.begin(end.at + *pause, end.exit.text, out);
    }
  }
  const auto& job = state_.processes.name(process).job;
  if (job.empty())
    state_.lifecycle.end(now, run_outcome::process_died, reason_of(end), out);
  else
    state_.endings.fail(now, job, run_outcome::process_died, reason_of(end), out);
  out.all.emplace_back(launch_effects::show_log{process});
}

std::string restarter::reason_of(const exit_report& end) const {
  const auto failures = state_.joins.failures(end.process);
  if (failures > unjoined_restarts_max)
    return end.exit.text + "; it has failed " + std::to_string(failures) +
           " times before it joined the run, and would fail again";
  const auto deaths = intensities_[end.process].recent_deaths();
  if (deaths == 0) return end.exit.text;
  const auto role = state_.processes.role(end.process);
  return end.exit.text + "; it has died " + std::to_string(deaths) + " times within " +
         std::to_string(limits_of(role).within_ms) + " ms (supervision." +
         std::string(to_string(role)) + ".max_restarts)";
}

// Returns true if it may come back once more; then it rests before.
bool restarter::back_off(const exit_report& end, launch_effects& out) {
  const auto process = end.process;
  const auto role = state_.processes.role(process);
  if (!state_.joins.may_start_again(end)) return false;
  const auto pause = intensities_[process].died(end.at, limits_of(role));
  if (!pause) return false;
  if (serves_shard(role)) last_shard_death_ = process;
  const auto incarnation = state_.processes.next_incarnation(process);
  state_.processes.set(process, process_state::resting);
  resting_.push_back({process, end.at + *pause});
  out.all.emplace_back(launch_effects::note{
      "process_died", end.exit.text, fields_of(state_.processes.name(process), end.exit.text)});
  out.all.emplace_back(launch_effects::complain{
      "tidegate: " + end.exit.text + "; it is started again" +
      (*pause > 0 ? " in " + std::to_string(*pause / millisecond) + " ms" : "") +
      " (incarnation " + std::to_string(incarnation) + ")"});
  return true;
}

void restarter::shard_lost(std::int64_t now, const std::string& why, launch_effects& out) {
  if (state_.endings.all_over()) return;
  const auto process = last_shard_death_;
  if (state_.plan.goes_back) return state_.rollbacks.begin(now, why, out);
  state_.lifecycle.end(now, run_outcome::process_died, why, out);
  out.all.emplace_back(launch_effects::show_log{process});
}

void restarter::start_rested(std::int64_t now, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return;
  for (const auto& resting : std::exchange(resting_, {})) {
    if (resting.until > now)
      resting_.push_back(resting);
    else if (comes_back(resting.process))
      state_.processes.start(resting.process, out);
    else  // its job has ended meanwhile
      state_.processes.set(resting.process, process_state::gone);
  }
  for (auto& waiting : std::exchange(unplaced_, {})) {
    const auto process = waiting.process;
    if (waiting.comes_back && !comes_back(process)) {
      state_.processes.set(process, process_state::gone);
    } else if (state_.hosts.choose(process)) {
      state_.processes.start(process, out, waiting.joins);
    } else {
      waiting.since = waiting.since.value_or(now);
      unplaced_.push_back(waiting);
    }
  }
}

void restarter::wait_for_host(process_number process, bool joins) {
  TIDEGATE_RARE("launcher: a process waits for a host");
  const bool was_resting = state_.processes.is(process, process_state::resting);
  state_.processes.set(process, process_state::resting);
  unplaced_.push_back({.process = process, .joins = joins, .comes_back = was_resting});
}

void restarter::forget(process_number process) {
  std::erase_if(resting_, [&](const auto& resting) { return resting.process == process; });
  std::erase_if(unplaced_, [&](const auto& waiting) { return waiting.process == process; });
}

void restarter::forget() {
  resting_.clear();
  unplaced_.clear();
}

const restart_spec& restarter::limits_of(process_role role) const {
  const auto& supervision = state_.plan.supervision;
  switch (role) {
    case process_role::worker:
      return supervision.worker;
    case process_role::shard:
    case process_role::replica:
      return supervision.shard;
    case process_role::aggregator:
      return supervision.aggregator;
    case process_role::coordinator:
      break;
  }
  return supervision.coordinator;
}

std::int64_t restarter::next_wake() const {
  auto at = never;
  for (const auto& resting : resting_) at = std::min(at, resting.until);
  return at;
}

}  // namespace tidegate::policies::launching
