#include "policies/placement/hosts.hpp"

#include <algorithm>

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

const host_spec* host_of_replica(const cluster_spec& cluster, std::uint32_t index) noexcept {
  return host_of_shard(cluster, shard_of_replica(cluster.shards, index) +
                                    number_of_replica(cluster.shards, index));
}

const host_spec* host_of_worker(const cluster_spec& cluster, const job_spec& job,
                                std::uint32_t rank) noexcept {
  if (cluster.hosts.empty()) return nullptr;
  return pick(cluster, job.hosts, rank % job.workers * count(cluster, job.hosts) / job.workers);
}

}  // namespace tidegate::policies
