#include "policies/placement/process_names.hpp"

#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/shard_map.hpp"

namespace tidegate::policies {

std::vector<process_name> process_names_of(const cluster_spec& cluster) {
  std::vector<process_name> names{{.role = process_role::coordinator, .job = {}, .index = 0}};
  const auto slots = cluster.slots > 0 ? cluster.slots : cluster.shards;
  for (auto& name : processes_of(slots, cluster.shards, cluster.replicas))
    names.push_back(std::move(name));
  for (const auto& job : cluster.jobs) {
    const auto aggregators = plan_aggregation(cluster, job).aggregators.size();
    for (std::uint32_t i = 0; i < aggregators; ++i)
      names.push_back({.role = process_role::aggregator, .job = job.name, .index = i});
  }
  for (const auto& job : cluster.jobs)
    for (std::uint32_t rank = 0; rank < job.workers; ++rank)
      names.push_back({.role = process_role::worker, .job = job.name, .index = rank});
  return names;
}

}  // namespace tidegate::policies
