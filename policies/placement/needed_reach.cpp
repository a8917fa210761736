#include "policies/placement/needed_reach.hpp"

#include <algorithm>
#include <vector>

#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/placement/process_names.hpp"
#include "policies/placement/shard_map.hpp"

namespace tidegate::policies {

namespace {

using hosts = std::set<host_number>;

// The coordinator listens at the address of its host, or at all that it has; not where the
// cluster names another (cluster.control.host).
bool is_at_address_of_host(const cluster_spec& cluster) {
  const auto* home = host_of_coordinator(cluster);
  const auto& control = cluster.control_host;
  return control == cluster_spec().control_host || control == "0.0.0.0" || control == "::" ||
         (home != nullptr && control == home->address);
}

class reach_list {
 public:
  void add(host_number from, host_number to) {
    if (from != to) pairs.emplace(from, to);
  }
  // Each connects to each of the others.
  void join(const hosts& some, const hosts& others) {
    for (const auto one_end : some)
      for (const auto other : others) {
        add(one_end, other);
        add(other, one_end);
      }
  }

  std::set<host_pair> pairs;
};

}  // namespace

std::set<host_pair> needed_reach(
    const cluster_spec& cluster,
    const std::function<host_number(const process_name&)>& host_of) {
  reach_list needed;
  hosts of_shards;
  std::vector<hosts> of_slots(std::max(cluster.slots, cluster.shards));
  host_number coordinator = 0;
  const bool is_at_address = is_at_address_of_host(cluster);
  for (const auto& name : process_names_of(cluster)) {
    const auto host = host_of(name);
    if (name.role == process_role::coordinator) coordinator = host;
    if (serves_shard(name.role)) {
      of_shards.insert(host);
      of_slots[slot_process_of(name, cluster.shards).slot].insert(host);
    }
    if (is_at_address) needed.add(host, coordinator);  // it is the first of them
  }
  if (is_at_address) needed.add(0, coordinator);
  for (const auto& slot : of_slots) needed.join(slot, slot);
  if (cluster.slots > 0) needed.join(of_shards, of_shards);
  for (const auto& job : cluster.jobs) {
    const auto sums = plan_aggregation(cluster, job);
    const auto above = [&](std::uint32_t aggregator) {
      return aggregator == no_aggregator
                 ? of_shards
                 : hosts{host_of({process_role::aggregator, job.name, aggregator})};
    };
    for (std::uint32_t i = 0; i < sums.aggregators.size(); ++i)
      needed.join(above(i), above(sums.aggregators[i].parent));
    for (std::uint32_t rank = 0; rank < job.workers; ++rank)
      needed.join({host_of({process_role::worker, job.name, rank})},
                  above(rank < sums.of_worker.size() ? sums.of_worker[rank] : no_aggregator));
  }
  return needed.pairs;
}

}  // namespace tidegate::policies
