#include "policies/launcher/process_list.hpp"

#include <algorithm>
#include <utility>

#include "policies/launcher/state.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies::launching {

process_list::process_list(launcher_state& state)
    : state_(state),
      names_(state.plan.processes),
      states_(names_.size(), process_state::waiting),
      incarnations_(names_.size(), 1),
      killed_as_(names_.size()) {
  TIDEGATE_ASSERT(!names_.empty() && role(0) == process_role::coordinator,
                  "the others are told where the coordinator is");
}

void process_list::add(const process_name& name) {
  names_.push_back(name);
  states_.push_back(process_state::unused);
  incarnations_.push_back(0);
  killed_as_.emplace_back();
}

void process_list::begin_anew() {
  std::fill(states_.begin(), states_.end(), process_state::waiting);
  // As the plan says: later ones go with their epoch.
  for (process_number process = 0; process < size(); ++process)
    if (state_.scaling.is_beyond(names_[process], state_.plan.slots))
      states_[process] = process_state::unused;
  for (process_number process = 0; process < size(); ++process)
    for (const auto& planned : state_.plan.jobs)
      if (is_worker(process) && names_[process].job == planned.name &&
          names_[process].index >= planned.workers)
        states_[process] = process_state::unused;
  for (process_number process = 0; process < size(); ++process)
    if (state_.endings.is_over(process)) states_[process] = process_state::unused;
  for (auto& incarnation : incarnations_) ++incarnation;
}

void process_list::start(process_number process, launch_effects& out, bool joins) {
  const auto host = state_.hosts.choose(process);
  if (!host) return state_.restarts.wait_for_host(process, joins);
  const bool moved = state_.hosts.place(process, *host);
  states_[process] = process_state::starting;
  out.all.emplace_back(launch_effects::start{.host = *host,
                                             .process = process,
                                             .incarnation = incarnations_[process],
                                             .epoch = state_.rollbacks.epoch(),
                                             .joins = joins,
                                             .moved = moved,
                                             .spare = state_.spares.take(process)});
}

void process_list::leave(process_number process, launch_effects& out) {
  states_[process] = process_state::leaving;
  out.all.emplace_back(launch_effects::leave{process});
}

void process_list::started(process_number process) {
  TIDEGATE_ASSERT(states_[process] == process_state::starting, "it was to be started");
  states_[process] = process_state::alive;
  state_.hosts.arrived(process);
}

void process_list::could_not_start(process_number process) {
  TIDEGATE_ASSERT(states_[process] == process_state::starting, "it was to be started");
  states_[process] = process_state::gone;
}

std::string process_list::ended(process_number process) {
  TIDEGATE_ASSERT(states_[process] == process_state::alive, "what ends has been started");
  states_[process] = process_state::gone;
  return std::exchange(killed_as_[process], {});
}

// Whatever holds a process up, nobody can say whether it would ever end. Killed, it has died
// like any other.
void process_list::hangs(process_number process, std::int64_t silent_ns, launch_effects& out) {
  if (!state_.lifecycle.is_active() || states_[process] != process_state::alive) return;
  const auto text = std::to_string(silent_ns / millisecond) + " ms";
  out.all.emplace_back(
      launch_effects::note{"process_hangs", names_[process].to_string() + " for " + text,
                           fields_of(names_[process], "no sign of life for " + text)});
  kill(process, "it had hung for " + text, out);
}

// A sentence stays in the news: whoever takes the place of the condemned has another
// incarnation.
void process_list::condemned(const condemned_process& sentence, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return;
  for (process_number process = 0; process < size(); ++process) {
    if (names_[process] != sentence.name || incarnations_[process] != sentence.incarnation ||
        states_[process] != process_state::alive || is_killed(process))
      continue;
    kill(process, sentence.reason, out);
  }
}

void process_list::kill(process_number process, const std::string& reason,
                        launch_effects& out) {
  killed_as_[process] = reason;
  out.all.emplace_back(launch_effects::kill{process});
}

void process_list::kill_late(const std::vector<process_number>& left,
                             launch_effects& out) const {
  for (const auto process : left) {
    out.all.emplace_back(launch_effects::note{"process_killed", names_[process].to_string(),
                                              fields_of(names_[process])});
    out.all.emplace_back(launch_effects::kill{process});
  }
}

process_number process_list::first(process_state state) const {
  return static_cast<process_number>(std::find(states_.begin(), states_.end(), state) -
                                     states_.begin());
}

std::vector<process_number> process_list::alive() const {
  std::vector<process_number> all;
  for (process_number process = 0; process < size(); ++process)
    if (states_[process] == process_state::alive) all.push_back(process);
  return all;
}

bool process_list::any_worker_alive() const {
  const auto left = alive();
  return std::any_of(left.begin(), left.end(),
                     [&](auto process) { return is_worker(process); });
}

std::uint32_t process_list::workers_alive(const std::string& job) const {
  std::uint32_t count = 0;
  for (const auto process : alive())
    if (is_worker(process) && names_[process].job == job) ++count;
  return count;
}

}  // namespace tidegate::policies::launching
