#include "policies/launcher/host_list.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "policies/launcher/state.hpp"
#include "policies/placement/shard_map.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::launching {

host_list::host_list(launcher_state& state)
    : state_(state), hosts_(std::max<std::size_t>(1, state.plan.hosts.size())) {}

host_number host_list::home_of(const process_name& name) const {
  const auto at = state_.plan.homes.find(name.to_string());
  return at == state_.plan.homes.end() ? 0 : at->second;
}

host_number host_list::host_of(process_number process) const {
  if (process < places_.size() && places_[process]) return places_[process]->host;
  return home_of(state_.processes.name(process));
}

std::string host_list::name_at(process_number worker) const {
  const auto& name = state_.processes.name(worker);
  const bool is_at_home = state_.plan.hosts.empty() || host_of(worker) == home_of(name);
  return is_at_home ? state_.plan.host_of_worker(name.job, name.index)
                    : state_.plan.hosts[host_of(worker)].name;
}

bool host_list::place(process_number process, host_number host) {
  if (places_.size() <= process) places_.resize(process + std::size_t{1});
  if (host != home_of(state_.processes.name(process)))
    TIDEGATE_RARE("launcher: a process is started on another host than its own");
  process_place place{.host = host, .losses = hosts_[host].losses};
  if (const auto& before = places_[process])
    place.is_new =
        before->is_new || before->host != place.host || before->losses != place.losses;
  places_[process] = place;
  return place.is_new;
}

bool host_list::is_on(process_number process, host_number host) const {
  const bool lives = state_.processes.is(process, process_state::alive) ||
                     state_.processes.is(process, process_state::starting);
  return lives && host_of(process) == host;
}

std::vector<process_number> host_list::processes_on(host_number host) const {
  std::vector<process_number> all;
  for (process_number process = 0; process < state_.processes.size(); ++process)
    if (is_on(process, host)) all.push_back(process);
  return all;
}

// Processes that live there and have another home.
std::uint32_t host_list::guests_of(host_number host) const {
  std::uint32_t count = 0;
  for (process_number process = 0; process < state_.processes.size(); ++process)
    if (is_on(process, host) && home_of(state_.processes.name(process)) != host) ++count;
  return count;
}

bool host_list::has_room(host_number host) const {
  if (state_.plan.hosts.empty()) return true;
  const auto& room = state_.plan.hosts[host].room;
  return !room || guests_of(host) < *room;
}

bool host_list::has_chain_of(host_number host, const process_name& name) const {
  if (!serves_shard(name.role) || state_.plan.shards == 0) return false;
  const auto slot = slot_process_of(name, state_.plan.shards).slot;
  for (process_number process = 0; process < state_.processes.size(); ++process) {
    const auto& other = state_.processes.name(process);
    if (other != name && serves_shard(other.role) && is_on(process, host) &&
        slot_process_of(other, state_.plan.shards).slot == slot)
      return true;
  }
  return false;
}

std::optional<host_number> host_list::choose(process_number process) const {
  const auto& name = state_.processes.name(process);
  const auto home = home_of(name);
  if (is_usable(home) || runtime::is_planted(runtime::planted_bug::process_stays_on_lost_host))
    return home;
  if (name.role == process_role::coordinator) return std::nullopt;
  std::optional<host_number> best;
  std::tuple<bool, std::uint32_t> rank_of_best;
  for (host_number host = 0; host < hosts_.size(); ++host) {
    if (!is_usable(host) || !has_room(host)) continue;
    const auto load = static_cast<std::uint32_t>(processes_on(host).size());
    const std::tuple rank(has_chain_of(host, name), load);
    if (best && rank >= rank_of_best) continue;
    best = host;
    rank_of_best = rank;
  }
  return best;
}

void host_list::up(host_number host, launch_effects& out) {
  auto& at = hosts_[host];
  if (!at.lost.empty() && !state_.plan.hosts.empty())
    out.all.emplace_back(launch_effects::note{"host_back", state_.plan.hosts[host].name});
  at.was_up = true;
  at.lost.clear();
}

// A host that never was there is a mistake in the cluster file, or on its side.
void host_list::down(std::int64_t now, host_number host, const std::string& why,
                     launch_effects& out) {
  auto& at = hosts_[host];
  const bool is_first = !at.was_up && at.lost.empty();
  at.lost = why;
  ++at.losses;
  out.all.emplace_back(launch_effects::note{"host_lost", why, {.cause = why}});
  if (is_first && state_.lifecycle.is(run_phase::starting)) {
    state_.lifecycle.end(now, run_outcome::job_failed, why, out);
    out.all.emplace_back(launch_effects::show_agent_log{host});
  }
  for (const auto process : processes_on(host)) {
    if (state_.processes.is(process, process_state::starting))
      state_.processes.started(process);
    state_.exits.ended(now, process,
                       {process_exit::ending::by_signal,
                        state_.processes.name(process).to_string() + " was lost: " + why});
  }
  state_.spares.lost(host);
}

void host_list::check(std::int64_t now, launch_effects& out) {
  if (!state_.lifecycle.is_active()) return;
  for (const auto& waiting : state_.restarts.unplaced()) {
    const auto& name = state_.processes.name(waiting.process);
    if (!waiting.since || now < *waiting.since + state_.start_timeout) continue;
    if (state_.endings.is_over(waiting.process)) continue;
    const auto reason = "no host has had room for " + name.to_string() + " for " +
                        state_.plan.start_timeout_text +
                        " (hosts.*.room, cluster.start_timeout): " + hosts_[home_of(name)].lost;
    if (name.job.empty())
      state_.lifecycle.end(now, run_outcome::process_died, reason, out);
    else
      state_.endings.fail(now, name.job, run_outcome::process_died, reason, out);
    out.all.emplace_back(launch_effects::show_agent_log{home_of(name)});
    return;
  }
}

std::int64_t host_list::next_wake() const {
  auto wake = never;
  for (const auto& waiting : state_.restarts.unplaced())
    if (waiting.since) wake = std::min(wake, *waiting.since + state_.start_timeout);
  return wake;
}

}  // namespace tidegate::policies::launching
