#include "launch/simulate/scale/topology.hpp"

#include <map>

#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/hosts.hpp"

namespace tidegate::sim::scale {

namespace {

// Under which rank each aggregator's sums go by.
std::map<std::pair<std::uint32_t, std::uint32_t>, source> sums_of(
    const policies::aggregation& plan) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, source> sums;  // by (parent, first rank)
  for (std::uint32_t at = 0; at < plan.aggregators.size(); ++at) {
    const auto& place = plan.aggregators[at];
    for (std::uint32_t node = 0; node < place.nodes.size(); ++node)
      sums[{place.parent, place.nodes[node].first}] = {
          .is_worker = false, .index = at, .node = node};
  }
  return sums;
}

}  // namespace

topology plan_topology(const setting& combination) {
  policies::cluster_spec cluster;
  policies::job_spec job;
  job.workers = combination.workers;
  job.aggregators = combination.aggregators;
  cluster.hosts.resize(
      combination.one_host ? 1 : (combination.workers - 1) / combination.workers_per_host + 1);
  const auto plan = policies::plan_aggregation(cluster, job);
  const auto sums = sums_of(plan);

  topology result;
  result.hosts = static_cast<std::uint32_t>(cluster.hosts.size());
  for (std::uint32_t rank = 0; rank < combination.workers; ++rank) {
    const auto* host = policies::host_of_worker(cluster, job, rank);
    result.host_of_rank.push_back(static_cast<std::uint32_t>(host - cluster.hosts.data()));
  }
  result.of_rank.resize(combination.workers);
  result.relays.resize(plan.aggregators.size());
  const auto add = [&](std::uint32_t to, const std::vector<std::uint32_t>& ranks,
                       std::vector<source>& members) {
    for (const auto rank : ranks) {
      const uplink up{to, static_cast<std::uint32_t>(members.size())};
      const auto sum = sums.find({to, rank});
      const bool is_worker = plan.of_worker[rank] == to && sum == sums.end();
      members.push_back(is_worker ? source{.is_worker = true, .index = rank, .node = 0}
                                  : sum->second);
      (is_worker ? result.of_rank[rank]
                 : result.relays[sum->second.index].nodes[sum->second.node]) = up;
    }
  };
  for (std::uint32_t at = 0; at < result.relays.size(); ++at) {
    result.relays[at].host = result.host_of_rank[plan.aggregators[at].nodes.front().first];
    result.relays[at].nodes.resize(plan.aggregators[at].nodes.size());
  }
  for (std::uint32_t at = 0; at < result.relays.size(); ++at)
    add(at, plan.aggregators[at].members, result.relays[at].members);
  add(the_shards, plan.top, result.top);
  return result;
}

}  // namespace tidegate::sim::scale
