#include "policies/placement/hosts.hpp"

#include <algorithm>
#include <span>
#include <string_view>
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

// A host without a rack is one.
std::string_view rack_of(const cluster_spec& cluster, std::uint64_t shard_host) noexcept {
  const auto* host = pick(cluster, cluster.shard_hosts, shard_host);
  return host->rack.empty() ? host->name : host->rack;
}

// Returns the hosts of shards in the order in which they take replicas of what is on `home`:
// one of each other rack, then the next of each, then those of its own rack, itself last. Each
// rack begins with its host that has the place of `home` among those of its rack, so that all
// get as many.
std::vector<std::uint64_t> after(const cluster_spec& cluster, std::uint64_t home,
                                 std::uint64_t hosts) {
  std::vector<std::vector<std::uint64_t>> racks;  // `home`'s, then others, as they come after
  std::uint64_t before_home = 0;
  for (std::uint64_t i = 0; i < hosts; ++i) {
    const auto at = (home + i) % hosts;
    const auto known = std::ranges::find_if(racks, [&](const auto& rack) {
      return rack_of(cluster, rack.front()) == rack_of(cluster, at);
    });
    if (known == racks.end())
      racks.push_back({at});
    else
      known->push_back(at);
  }
  for (const auto at : racks.front()) before_home += at < home ? 1 : 0;
  for (auto& rack : std::span(racks).subspan(1)) {
    std::ranges::sort(rack);
    const auto first = static_cast<std::ptrdiff_t>(before_home % rack.size());
    std::rotate(rack.begin(), rack.begin() + first, rack.end());
  }
  std::vector<std::uint64_t> order;
  for (std::size_t turn = 0; order.size() + racks.front().size() < hosts; ++turn)
    for (const auto& rack : std::span(racks).subspan(1))
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
  if (cluster.hosts.empty()) return nullptr;
  const auto hosts = count(cluster, cluster.shard_hosts);
  const auto home = shard_of_replica(cluster.shards, index) % hosts;
  const auto all = after(cluster, home, hosts);
  return pick(cluster, cluster.shard_hosts,
              all[(number_of_replica(cluster.shards, index) - 1) % all.size()]);
}

const host_spec* host_of_worker(const cluster_spec& cluster, const job_spec& job,
                                std::uint32_t rank) noexcept {
  if (cluster.hosts.empty()) return nullptr;
  return pick(cluster, job.hosts, rank % job.workers * count(cluster, job.hosts) / job.workers);
}

}  // namespace tidegate::policies
