#include "policies/launcher/spare_pool.hpp"

#include <algorithm>

#include "policies/launcher/state.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::launching {

using runtime::is_planted;
using runtime::planted_bug;

spare_pool::spare_pool(launcher_state& state) : state_(state) {
  for (const auto& job : state.plan.jobs) {
    if (job.spares == 0) continue;
    const auto first = sites_.size();
    for (std::uint32_t rank = 0; rank < job.hosts.size(); ++rank) {
      const auto& host = job.hosts[rank];
      const bool known =
          std::any_of(sites_.begin() + static_cast<std::ptrdiff_t>(first), sites_.end(),
                      [&](const site& at) { return at.host == host; });
      if (!known)
        sites_.push_back({.job = job.name,
                          .host = host,
                          .number = state.hosts.home_of(
                              {.role = process_role::worker, .job = job.name, .index = rank}),
                          .rank = rank,
                          .wanted = job.spares,
                          .copies = copying::unknown,
                          .deaths = {},
                          .rests_until = 0});
    }
  }
}

// Jobs that wait for the next epoch keep theirs.
bool spare_pool::may_have_spares(const site& at) const {
  const auto phase = state_.lifecycle.phase();
  if (phase == run_phase::stopping || phase == run_phase::ending) return false;
  const auto* status = state_.jobs.find(at.job);
  return status == nullptr || !has_ended(*status) || phase == run_phase::clearing;
}

// Returns true if all workers of the job are in, and one is on this host. A copy costs next to
// nothing, and waits for none of those that are on their way back.
bool spare_pool::may_start(const site& at, bool is_copy) const {
  const auto* status = state_.jobs.find(at.job);
  if (!state_.lifecycle.is(run_phase::running) || status == nullptr ||
      status->state != job_state::running || !state_.hosts.is_usable(at.number))
    return false;
  const auto& processes = state_.processes;
  bool any = false;
  for (process_number process = 0; process < processes.size(); ++process) {
    const auto& name = processes.name(process);
    if (name.role != process_role::worker || name.job != at.job ||
        processes.is(process, process_state::unused) ||
        processes.is(process, process_state::gone))
      continue;
    if (!is_copy &&
        (!processes.is(process, process_state::alive) || !state_.joins.has_joined(process)))
      return false;
    any = any || state_.hosts.name_at(process) == at.host;
  }
  return any;
}

bool spare_pool::is_starting(std::size_t at) const {
  return std::any_of(spares_.begin(), spares_.end(),
                     [&](const spare& each) { return each.site == at && !each.is_ready; });
}

// Returns how many take places before the original does.
std::uint32_t spare_pool::count(std::size_t at) const {
  return static_cast<std::uint32_t>(
      std::count_if(spares_.begin(), spares_.end(), [&](const spare& each) {
        return each.site == at && !each.is_ending && !each.is_original;
      }));
}

spare_number spare_pool::original_of(std::size_t at) const {
  for (const auto& each : spares_)
    if (each.site == at && each.is_original && !each.is_ending) return each.number;
  return no_spare;
}

// How long a program takes to begin nobody can say; a copy has begun.
bool spare_pool::is_late(const spare& each, std::int64_t now) const {
  return each.is_copy && !each.is_ready && now >= each.started_at + state_.start_timeout;
}

void spare_pool::end(spare& which, launch_effects& out) {
  if (which.is_ending) return;
  which.is_ending = true;
  out.all.emplace_back(launch_effects::end_spare{sites_[which.site].number, which.number});
}

// An original that is asked and makes none is stopped, say.
void spare_pool::check_copies(std::int64_t now, launch_effects& out) {
  for (auto& each : spares_) {
    if (each.is_ending || !is_late(each, now)) continue;
    end(each, out);
    for (auto& original : spares_)
      if (original.site == each.site && original.is_original) end(original, out);
    count_death(sites_[each.site], now,
                "a spare of job " + sites_[each.site].job + " was not copied within " +
                    state_.plan.start_timeout_text,
                out);
  }
}

void spare_pool::go_on(std::int64_t now, launch_effects& out) {
  decided_at_ = now;
  for (auto& each : spares_)
    if (!may_have_spares(sites_[each.site]) && !is_planted(planted_bug::spare_outlives_its_job))
      end(each, out);
  check_copies(now, out);
  for (std::size_t i = 0; i < sites_.size(); ++i) {
    const auto& at = sites_[i];
    const auto original = original_of(i);
    if (now < at.rests_until || is_starting(i) || count(i) >= at.wanted ||
        !may_start(at, original != no_spare))
      continue;
    spares_.push_back(
        {.number = ++last_, .site = i, .started_at = now, .is_copy = original != no_spare});
    out.all.emplace_back(launch_effects::start_spare{.host = at.number,
                                                     .spare = last_,
                                                     .job = at.job,
                                                     .rank = at.rank,
                                                     .copy_of = original});
  }
}

spare_number spare_pool::take(process_number process) {
  const auto& name = state_.processes.name(process);
  if (name.role != process_role::worker) return no_spare;
  const auto rank_of = [&](const spare& each) {
    const auto& at = sites_[each.site];
    if (each.is_ending || at.job != name.job || at.host != state_.hosts.name_at(process))
      return 0;
    if (!each.is_ready) return at.copies == copying::no ? 1 : 0;
    return each.is_original ? 2 : 3;
  };
  const auto best =
      std::max_element(spares_.begin(), spares_.end(),
                       [&](const spare& a, const spare& b) { return rank_of(a) < rank_of(b); });
  if (best == spares_.end() || rank_of(*best) == 0) return no_spare;
  if (best->is_original)
    TIDEGATE_RARE("launcher: the original of spares takes a place");
  else if (best->is_ready)
    TIDEGATE_RARE("launcher: a spare that waits takes a place");
  else
    TIDEGATE_RARE("launcher: a spare that does not wait yet takes a place");
  const auto number = best->number;
  if (!is_planted(planted_bug::spare_taken_twice)) spares_.erase(best);
  return number;
}

void spare_pool::lost(host_number host) {
  std::erase_if(spares_, [&](const spare& each) { return sites_[each.site].number == host; });
}

void spare_pool::ready(spare_number spare, bool can_copy) {
  for (auto& each : spares_) {
    if (each.number != spare) continue;
    each.is_ready = true;
    auto& copies = sites_[each.site].copies;
    if (!each.is_copy && copies == copying::unknown)
      copies = can_copy ? copying::yes : copying::no;
    each.is_original = can_copy && copies == copying::yes && original_of(each.site) == no_spare;
  }
}

void spare_pool::ended(std::int64_t now, spare_number spare, const std::string& why,
                       launch_effects& out) {
  const auto found = std::find_if(spares_.begin(), spares_.end(),
                                  [&](const auto& each) { return each.number == spare; });
  if (found == spares_.end()) return;
  auto& at = sites_[found->site];
  const bool was_expected = found->is_ending;
  const bool never_waited = found->is_copy && !found->is_ready;
  const auto original = original_of(found->site);
  spares_.erase(found);
  if (was_expected) return;
  // Its original lives, and was of no use: it may be in another namespace of processes.
  if (never_waited && original != no_spare) {
    at.copies = copying::no;
    for (auto& each : spares_)
      if (each.number == original) each.is_original = false;
  }
  count_death(at, now, why, out);
}

void spare_pool::count_death(site& at, std::int64_t now, const std::string& why,
                             launch_effects& out) {
  out.all.emplace_back(launch_effects::note{"spare_ended", why});
  const auto& limits = state_.plan.supervision.worker;
  const auto pause = at.deaths.died(now, limits);
  at.rests_until = now + (pause ? *pause : limits.within_ms * millisecond);
  if (pause) return;
  TIDEGATE_RARE("launcher: spares end too often");
  out.all.emplace_back(launch_effects::complain{
      "tidegate: " + why + "; spares of job " + at.job + " have ended " +
      std::to_string(at.deaths.recent_deaths()) + " times within " +
      std::to_string(limits.within_ms) +
      " ms (supervision.worker.max_restarts): none is started for as long"});
}

// Whatever else a spare waits for is an event.
std::int64_t spare_pool::next_wake() const {
  auto wake = never;
  for (const auto& each : spares_)
    if (each.is_copy && !each.is_ready && !each.is_ending)
      wake = std::min(wake, each.started_at + state_.start_timeout);
  for (std::size_t i = 0; i < sites_.size(); ++i)
    if (sites_[i].rests_until > decided_at_ && !is_starting(i) && count(i) < sites_[i].wanted &&
        may_start(sites_[i], original_of(i) != no_spare))
      wake = std::min(wake, sites_[i].rests_until);
  return wake;
}

}  // namespace tidegate::policies::launching
