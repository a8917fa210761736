#include "policies/launcher/host_survey.hpp"

#include <algorithm>
#include <utility>

#include "policies/launcher/state.hpp"
#include "policies/model/millisecond.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::launching {

using runtime::is_planted;
using runtime::planted_bug;

namespace {

// A host that was kept out is surveyed again.
constexpr std::int64_t survey_again_after = 5'000 * millisecond;
// A network that comes up late may refuse at once.
constexpr std::int64_t second_try_after = 2'000 * millisecond;
// Pairs that one message names; events have all.
constexpr std::size_t pairs_told_max = 16;

}  // namespace

host_survey::host_survey(launcher_state& state)
    : state_(state), hosts_(std::max<std::size_t>(1, state.plan.hosts.size())) {
  is_done_ = hosts_.size() == 1;
  wanted_.insert(0);
  for (const auto& name : state.plan.processes) wanted_.insert(state.hosts.home_of(name));
}

void host_survey::up(host_number host, launch_effects& out) {
  hosts_[host] = {};
  hosts_[host].is_up = true;
  members_.erase(host);  // it is another agent's survey
  const bool waits = is_done_ && hosts_.size() > 1 && !state_.hosts.is_usable(host);
  if (!waits) state_.hosts.up(host, out);
}

void host_survey::down(host_number host) {
  hosts_[host] = {};
  members_.erase(host);
}

void host_survey::told(host_number host, const agent_reports::surveyed& news) {
  const auto at = members_.find(host);
  if (at == members_.end() || news.number != number_ || news.step != step_) return;
  auto& of = at->second;
  of.has_told = true;
  if (step_ == survey_step::reach) {
    of.unreached = news.unreached;
    return;
  }
  of.port = news.port;
  of.not_listening = news.why;
}

bool host_survey::is_due(std::int64_t now) const {
  if (!is_done_)
    return now >= second_try_at_ && std::all_of(wanted_.begin(), wanted_.end(), [&](auto host) {
             return hosts_[host].is_up || !state_.hosts.is_usable(host);
           });
  return std::any_of(hosts_.begin(), hosts_.end(), [&](const auto& host) {
    return host.is_up && !host.is_known && now >= host.again_at;
  });
}

void host_survey::go_on(std::int64_t now, launch_effects& out) {
  const auto all_have_told = [&] {
    return std::all_of(members_.begin(), members_.end(),
                       [](const auto& each) { return each.second.has_told; });
  };
  while (hosts_.size() > 1 && state_.lifecycle.is_active()) {
    if (members_.empty() && is_due(now)) begin(now, out);
    if (members_.empty()) return;
    if (step_ == survey_step::listen && all_have_told()) have_them_reach(out);
    if (step_ == survey_step::listen || !all_have_told()) return;
    judge(now, out);
  }
}

// What is no host of the cluster has no address, and nobody connects to it.
void host_survey::begin(std::int64_t now, launch_effects& out) {
  ++number_;
  if (suspected_.empty()) begun_at_ = now;
  step_ = survey_step::listen;
  for (host_number host = 0; host < hosts_.size(); ++host) {
    if (!hosts_[host].is_up) continue;
    auto& of = members_[host];
    of.has_told = state_.plan.hosts[host].address.empty();
    if (!of.has_told) order(host, {.number = number_, .step = step_, .peers = {}}, out);
  }
}

void host_survey::have_them_reach(launch_effects& out) {
  step_ = survey_step::reach;
  for (auto& [host, of] : members_) {
    std::vector<survey_peer> peers;
    for (const auto& [other, at] : members_) {
      if (other == host || at.port == 0 || (!is_new(host) && !is_new(other))) continue;
      if (state_.plan.hosts[host].address.empty() &&
          !state_.plan.must_reach.contains({host, other}))
        continue;
      if (other < host && is_planted(planted_bug::hosts_surveyed_one_way)) continue;
      peers.push_back({.host = other, .port = at.port});
    }
    of.has_told = peers.empty();
    if (!of.has_told)
      order(host, {.number = number_, .step = step_, .peers = std::move(peers)}, out);
  }
}

std::vector<host_survey::failure> host_survey::failures() const {
  std::vector<failure> all;
  for (const auto& [host, of] : members_) {
    for (const auto& [other, at] : members_)
      if (other != host && !at.not_listening.empty() && (is_new(host) || is_new(other)))
        all.push_back({host, other, "no agent can listen there: " + at.not_listening});
    for (const auto& peer : of.unreached)
      if (members_.contains(peer.host) ||
          is_planted(planted_bug::lost_host_counts_as_unreached))
        all.push_back({host, peer.host, peer.why});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  return all;
}

void host_survey::judge(std::int64_t now, launch_effects& out) {
  const auto all = failures();
  for (const auto& [host, of] : members_)
    order(host, {.number = number_, .step = survey_step::end, .peers = {}}, out);
  if (is_done_)
    judge_later(now, all, out);
  else
    judge_start(now, all, out);
  members_.clear();
}

bool host_survey::is_needed(const failure& of) const {
  return is_planted(planted_bug::unneeded_pair_ends_the_run) ||
         state_.plan.must_reach.contains({of.from, of.to});
}

void host_survey::judge_start(std::int64_t now, const std::vector<failure>& all,
                              launch_effects& out) {
  auto needed = all;
  std::erase_if(needed, [&](const auto& failed) { return !is_needed(failed); });
  auto twice = needed;
  std::erase_if(twice, [&](const auto& failed) {
    return !suspected_.contains({failed.from, failed.to}) && members_.contains(failed.to);
  });
  suspected_.clear();
  for (const auto& failed : needed) suspected_.emplace(failed.from, failed.to);
  if (!needed.empty() && twice.empty()) {
    second_try_at_ = now + second_try_after;
    return;
  }
  out.all.emplace_back(launch_effects::note{
      "hosts_surveyed", std::to_string(members_.size()) + " hosts in " +
                            std::to_string((now - begun_at_) / millisecond) + " ms, of whose " +
                            "pairs " + std::to_string(all.size()) +
                            " do not reach each other"});
  for (const auto& failed : all)
    out.all.emplace_back(launch_effects::note{"host_unreached", text_of({failed})});
  if (!twice.empty())
    return state_.lifecycle.end(
        now, run_outcome::job_failed,
        "hosts that have to reach each other do not: " + text_of(twice) +
            "; have every TCP port pass between these addresses, or name others "
            "(cluster.hosts.*.address)",
        out);
  if (!all.empty())
    out.all.emplace_back(launch_effects::complain{
        "warning: " + text_of(all) +
        "; no process needs that now, and one may when hosts or processes are lost"});
  for (const auto& [host, of] : members_) hosts_[host].is_known = true;
  is_done_ = true;
  state_.lifecycle.surveyed(now, out);
}

// Of two that come at the same time, and do not reach each other, one stays out.
void host_survey::judge_later(std::int64_t now, const std::vector<failure>& all,
                              launch_effects& out) {
  for (const auto& [host, of] : members_) {
    auto& state = hosts_[host];
    if (state.is_known) continue;
    std::vector<failure> its_own;
    bool keeps_out = false;
    for (const auto& failed : all) {
      const auto other = failed.from == host ? failed.to : failed.from;
      if ((failed.from != host && failed.to != host) || is_new(other)) continue;
      its_own.push_back(failed);
      keeps_out |= is_needed(failed) && !state_.hosts.is_usable(host);
    }
    const auto text = its_own.empty() ? "" : text_of(its_own);
    if (std::exchange(state.told, text) != text && !text.empty())
      out.all.emplace_back(launch_effects::note{"host_unreached", text});
    if (keeps_out) {
      TIDEGATE_RARE("launcher: a host is back and does not reach the others");
      state.again_at = now + survey_again_after;
      state_.hosts.stays_down(host, text);
      continue;
    }
    state.is_known = true;
    if (!state_.hosts.is_usable(host)) state_.hosts.up(host, out);
  }
}

void host_survey::order(host_number host, agent_orders::survey content,
                        launch_effects& out) const {
  out.all.emplace_back(launch_effects::survey{host, std::move(content)});
}

std::string host_survey::name_of(host_number host) const {
  const auto& of = state_.plan.hosts[host];
  return of.address.empty() ? of.name : of.name + " (" + of.address + ")";
}

std::string host_survey::text_of(const std::vector<failure>& all) const {
  std::string text;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == pairs_told_max)
      return text + "; and " + std::to_string(all.size() - i) + " more, see the run's events";
    text += (i == 0 ? "" : "; ") + name_of(all[i].from) + " does not reach " +
            name_of(all[i].to) + ": " + all[i].why;
  }
  return text;
}

std::string host_survey::waits_for() const {
  std::string names;
  for (host_number host = 0; host < hosts_.size(); ++host) {
    const auto at = members_.find(host);
    const bool waits = members_.empty() ? wanted_.contains(host) && !hosts_[host].is_up
                                        : at != members_.end() && !at->second.has_told;
    if (waits) names += (names.empty() ? "" : ", ") + state_.plan.hosts[host].name;
  }
  return "these hosts have not said which others they reach: " + names;
}

std::int64_t host_survey::next_wake() const {
  auto wake = never;
  if (hosts_.size() == 1 || !members_.empty()) return wake;
  if (!is_done_) return second_try_at_ > 0 ? second_try_at_ : wake;
  for (const auto& host : hosts_)
    if (host.is_up && !host.is_known) wake = std::min(wake, host.again_at);
  return wake;
}

}  // namespace tidegate::policies::launching
