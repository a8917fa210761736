#include "policies/placement/hosts.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "policies/placement/replica_chain.hpp"

namespace tidegate::policies {

namespace {

// The `at`-th of the named hosts, or of all.
const host_spec* pick(const cluster_spec& cluster, const std::vector<std::string>& names,
                      std::uint64_t at) noexcept {
  return names.empty() ? &cluster.hosts[at] : find_host(cluster, names[at]);
}

std::uint64_t count(const cluster_spec& cluster,
                    const std::vector<std::string>& names) noexcept {
  return names.empty() ? cluster.hosts.size() : names.size();
}

// Returns the hosts of shards in their order.
std::vector<const host_spec*> hosts_of_shards(const cluster_spec& cluster) {
  std::vector<const host_spec*> all;
  std::map<std::string_view, const host_spec*> by_name;
  for (const auto& host : cluster.hosts) by_name[host.name] = &host;
  for (const auto& name : cluster.shard_hosts) all.push_back(by_name.at(name));
  if (cluster.shard_hosts.empty())
    for (const auto& host : cluster.hosts) all.push_back(&host);
  return all;
}

// Returns the hosts of shards in the order in which they take replicas of what is on the one at
// `home`: one of each other rack, then the next of each, then those of its own rack, itself
// last. Each rack begins with its host that has the place of `home` among those of its rack, so
// that all get as many. A host without a rack is one.
std::vector<std::size_t> after(const std::vector<const host_spec*>& hosts, std::size_t home) {
  std::vector<std::vector<std::size_t>> racks;  // `home`'s, then others, as they come after
  std::map<std::pair<bool, std::string_view>, std::size_t> known;  // a host may have its name
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const auto at = (home + i) % hosts.size();
    const auto& host = *hosts[at];
    const bool has_rack = !host.rack.empty();
    const auto [rack, is_new] =
        known.try_emplace({has_rack, has_rack ? host.rack : host.name}, racks.size());
    if (is_new) racks.emplace_back();
    racks[rack->second].push_back(at);
  }
  const auto others = std::span(racks).subspan(1);
  const auto before_home = static_cast<std::size_t>(std::count_if(
      racks.front().begin(), racks.front().end(), [&](std::size_t at) { return at < home; }));
  std::size_t longest = 0;
  for (auto& rack : others) {
    std::sort(rack.begin(), rack.end());
    const auto first = static_cast<std::ptrdiff_t>(before_home % rack.size());
    std::rotate(rack.begin(), rack.begin() + first, rack.end());
    longest = std::max(longest, rack.size());
  }
  std::vector<std::size_t> order;
  for (std::size_t turn = 0; turn < longest; ++turn)
    for (const auto& rack : others)
      if (turn < rack.size()) order.push_back(rack[turn]);
  order.insert(order.end(), racks.front().begin() + 1, racks.front().end());
  order.push_back(home);
  return order;
}

}  // namespace

bool has_agent(const host_spec& host) noexcept {
  return !host.prefix.empty() || !host.ssh.empty();
}

std::vector<const host_spec*> agent_hosts(const cluster_spec& cluster) {
  std::vector<const host_spec*> all;
  for (const auto& host : cluster.hosts)
    if (has_agent(host)) all.push_back(&host);
  return all;
}

const host_spec* host_of_agent(const cluster_spec& cluster, host_number agent) noexcept {
  host_number others = 0;
  for (const auto& host : cluster.hosts)
    if (agent == 0 ? !has_agent(host) : has_agent(host) && ++others == agent) return &host;
  return nullptr;
}

const host_spec* find_host(const cluster_spec& cluster, std::string_view name) noexcept {
  const auto at = std::find_if(cluster.hosts.begin(), cluster.hosts.end(),
                               [&](const host_spec& host) { return host.name == name; });
  return at == cluster.hosts.end() ? nullptr : &*at;
}

std::vector<std::string> addresses_of(const host_spec& host) {
  std::vector<std::string> all;
  if (!host.address.empty()) all.push_back(host.address);
  all.insert(all.end(), host.rails.begin(), host.rails.end());
  return all;
}

const host_spec* host_of_coordinator(const cluster_spec& cluster) noexcept {
  if (cluster.hosts.empty()) return nullptr;
  return cluster.coordinator_host.empty() ? &cluster.hosts.front()
                                          : find_host(cluster, cluster.coordinator_host);
}

bool coordinator_is_beside_launcher(const cluster_spec& cluster) noexcept {
  const auto* host = host_of_coordinator(cluster);
  return host == nullptr || !has_agent(*host);
}

const host_spec* host_of_shard(const cluster_spec& cluster, std::uint32_t index) noexcept {
  if (cluster.hosts.empty()) return nullptr;
  return pick(cluster, cluster.shard_hosts, index % count(cluster, cluster.shard_hosts));
}

const host_spec* host_of_replica(const cluster_spec& cluster, std::uint32_t index) {
  const auto shard = shard_of_replica(cluster.shards, index);
  const auto number = number_of_replica(cluster.shards, index);
  const auto has_rack = [](const host_spec& host) { return !host.rack.empty(); };
  if (std::none_of(cluster.hosts.begin(), cluster.hosts.end(), has_rack))
    return host_of_shard(cluster, shard + number);
  const auto hosts = hosts_of_shards(cluster);
  const auto order = after(hosts, shard % hosts.size());
  return hosts[order[(number - 1) % order.size()]];
}

const host_spec* host_of_worker(const cluster_spec& cluster, const job_spec& job,
                                std::uint32_t rank) noexcept {
  if (cluster.hosts.empty()) return nullptr;
  return pick(cluster, job.hosts, rank % job.workers * count(cluster, job.hosts) / job.workers);
}

}  // namespace tidegate::policies
