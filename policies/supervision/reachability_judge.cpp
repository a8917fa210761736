#include "policies/supervision/reachability_judge.hpp"

#include <algorithm>
#include <tuple>

#include "runtime/base/planted.hpp"

namespace tidegate::policies {

namespace {

bool counts(const reachability_judge::outage& outage, std::int64_t now) {
  return now - outage.reported_at < reachability_judge::report_lasts_ns;
}

}  // namespace

void reachability_judge::report(const std::string& reporter,
                                std::span<const unreachable_peer> peers, std::int64_t now) {
  std::erase_if(outages_, [&](const auto& entry) { return !counts(entry.second, now); });
  std::vector<outage> reported;
  for (const auto& peer : peers) {
    const auto before = outages_.find({reporter, peer.address});
    const auto first = before == outages_.end() ? now : before->second.first_reported_at;
    reported.push_back({.reporter = reporter,
                        .peer = peer.address,
                        .for_ns = peer.for_ns,
                        .reported_at = now,
                        .first_reported_at = first});
  }
  std::erase_if(outages_, [&](const auto& entry) { return entry.first.first == reporter; });
  for (const auto& cut : reported) outages_[{cut.reporter, cut.peer}] = cut;
}

std::vector<reachability_judge::outage> reachability_judge::outages(std::int64_t now) const {
  std::vector<outage> found;
  for (const auto& [ends, known] : outages_)
    if (counts(known, now) && !condemned_.contains(known.reporter) &&
        !condemned_.contains(known.peer))
      found.push_back(known);
  return found;
}

std::optional<reachability_judge::verdict> reachability_judge::judge(std::int64_t now,
                                                                     const find_member& find) {
  struct suspect {
    loss_cost cost = loss_cost::replica;
    std::set<std::string> addresses;
    std::set<std::string> peers;  // names
    std::string longest_peer;
    std::string longest_address;
    std::int64_t longest_ns = -1;
  };
  std::map<std::string, suspect> suspects;  // by name
  bool is_due = false;
  const auto add = [&](const std::string& address, const member& self, const outage& cut,
                       const member& peer) {
    auto& entry = suspects[self.name];
    entry.cost = std::max(entry.cost, self.cost);
    entry.addresses.insert(address);
    entry.peers.insert(peer.name);
    if (cut.for_ns <= entry.longest_ns) return;
    entry.longest_ns = cut.for_ns;
    entry.longest_peer = peer.name;
    entry.longest_address = address;
  };
  for (const auto& cut : outages(now)) {
    // Those that have just begun say as much about who is cut off.
    const auto reporter = find(cut.reporter);
    const auto peer = find(cut.peer);
    if (!reporter || !peer || reporter->name == peer->name) continue;
    is_due = is_due || (cut.for_ns >= judged_after(unreachable_ns_) &&
                        now - cut.first_reported_at >= known_for_ns);
    add(cut.reporter, *reporter, cut, *peer);
    add(cut.peer, *peer, cut, *reporter);
  }
  if (!is_due || runtime::is_planted(runtime::planted_bug::nobody_is_condemned)) return {};
  std::erase_if(suspects, [&](const auto& entry) {
    return entry.second.longest_ns < judged_after(unreachable_ns_);
  });
  const auto rank = [&](const auto& entry) {
    const auto& [name, found] = entry;
    const auto before = condemnations_.find(name);
    const auto times = before == condemnations_.end() ? 0U : before->second;
    return std::tuple(times, -static_cast<std::int64_t>(found.peers.size()), found.cost,
                      found.longest_address);
  };
  const auto chosen =
      std::min_element(suspects.begin(), suspects.end(),
                       [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  const auto& [name, found] = *chosen;
  ++condemnations_[name];
  condemned_.insert(found.addresses.begin(), found.addresses.end());
  return verdict{.condemned = found.longest_address,
                 .name = name,
                 .peer = found.longest_peer,
                 .for_ns = found.longest_ns};
}

}  // namespace tidegate::policies
