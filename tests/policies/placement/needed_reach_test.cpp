// Which hosts have to reach which.
#include "policies/placement/needed_reach.hpp"

#include <gtest/gtest.h>

#include "policies/placement/aggregation_tree.hpp"
#include "policies/placement/hosts.hpp"
#include "policies/placement/shard_map.hpp"

namespace tidegate::policies {
namespace {

using pairs = std::set<host_pair>;

struct hosts_of {
  const cluster_spec& cluster;

  host_number operator()(const process_name& name) const {
    return static_cast<host_number>(host(name) - cluster.hosts.data());
  }
  const host_spec* host(const process_name& name) const {
    if (name.role == process_role::coordinator) return host_of_coordinator(cluster);
    if (name.role == process_role::shard) return host_of_shard(cluster, name.index);
    if (name.role == process_role::replica) return host_of_replica(cluster, name.index);
    const auto& job = *cluster.find_job(name.job);
    if (name.role == process_role::worker) return host_of_worker(cluster, job, name.index);
    return host_of_aggregator(cluster, job,
                              plan_aggregation(cluster, job).aggregators[name.index]);
  }
};

pairs both(const pairs& some) {
  auto all = some;
  for (const auto& [from, to] : some) all.emplace(to, from);
  return all;
}

// The coordinator is on the first of four, the shard on the second, workers on the others.
cluster_spec four_hosts() {
  cluster_spec cluster;
  for (const auto* name : {"a", "b", "c", "d"}) cluster.hosts.push_back({name, name, {}});
  cluster.shard_hosts = {"b"};
  cluster.jobs.push_back({.name = "mlp", .workers = 2, .hosts = {"c", "d"}});
  return cluster;
}

pairs needed_of(const cluster_spec& cluster) {
  return needed_reach(cluster, hosts_of{cluster});
}

TEST(needed_reach, members_reach_the_coordinator_and_workers_and_shards_each_other) {
  auto expected = both({{1, 2}, {1, 3}});
  expected.insert({{1, 0}, {2, 0}, {3, 0}});
  EXPECT_EQ(needed_of(four_hosts()), expected);
}

TEST(needed_reach, the_launcher_reaches_the_coordinator) {
  auto cluster = four_hosts();
  cluster.coordinator_host = "d";
  auto expected = both({{1, 2}, {1, 3}});
  expected.insert({{0, 3}, {1, 3}, {2, 3}});
  EXPECT_EQ(needed_of(cluster), expected);
}

TEST(needed_reach, a_coordinator_that_listens_elsewhere_is_not_reached_by_its_hosts_address) {
  auto cluster = four_hosts();
  for (const auto* address : {"0.0.0.0", "::", "a"}) {
    cluster.control_host = address;
    EXPECT_TRUE(needed_of(cluster).contains({2, 0})) << address;
  }
  cluster.control_host = "of-another-network";
  EXPECT_EQ(needed_of(cluster), both({{1, 2}, {1, 3}}));
}

TEST(needed_reach, workers_reach_their_aggregators_alone) {
  auto cluster = four_hosts();
  cluster.jobs[0].workers = 4;
  cluster.jobs[0].hosts = {"c", "d", "a", "b"};
  cluster.jobs[0].aggregators = {aggregators_kind::fan_in, 2};
  auto expected = both({{2, 3}, {0, 1}, {2, 1}});  // one is on c, and one on a
  expected.insert({{2, 0}, {3, 0}});
  EXPECT_EQ(needed_of(cluster), expected);
}

TEST(needed_reach, processes_of_a_chain_reach_each_other) {
  auto cluster = four_hosts();
  cluster.shard_hosts = {"a", "b"};
  cluster.shards = 1;
  cluster.replicas = 1;
  cluster.jobs[0].hosts = {"a"};
  EXPECT_EQ(needed_of(cluster), both({{0, 1}}));
}

TEST(needed_reach, processes_between_which_shards_may_move_reach_each_other) {
  auto cluster = four_hosts();
  cluster.shard_hosts = {"a", "b", "c"};
  cluster.shards = 4;
  cluster.slots = 3;
  cluster.jobs[0].hosts = {"a"};
  EXPECT_EQ(needed_of(cluster), both({{0, 1}, {0, 2}, {1, 2}}));
  cluster.slots = 0;
  cluster.shards = 3;
  EXPECT_EQ(needed_of(cluster), both({{0, 1}, {0, 2}})) << "without moves they need not";
}

TEST(host_of_agent, counts_the_launchers_own_as_one) {
  cluster_spec cluster;
  cluster.hosts = {{"a", "a", {"ssh", "a"}}, {"b", "b", {}}, {"c", "c", {}}, {"d", "d", {"x"}}};
  EXPECT_EQ(host_of_agent(cluster, 0)->name, "b");
  EXPECT_EQ(host_of_agent(cluster, 1)->name, "a");
  EXPECT_EQ(host_of_agent(cluster, 2)->name, "d");
  EXPECT_EQ(host_of_agent(cluster, 3), nullptr);
}

}  // namespace
}  // namespace tidegate::policies
