#include "policies/placement/aggregation_tree.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policies/placement/hosts.hpp"

namespace tidegate::policies {
namespace {

using ranks = std::vector<std::uint32_t>;
using nodes = std::vector<rank_node>;

cluster_spec cluster_of(std::uint32_t hosts) {
  cluster_spec cluster;
  for (std::uint32_t i = 0; i < hosts; ++i)
    cluster.hosts.push_back({"h" + std::to_string(i), "", {}});
  return cluster;
}

aggregation plan(std::uint32_t workers, aggregators_spec spec, std::uint32_t hosts = 0) {
  job_spec job;
  job.workers = workers;
  job.aggregators = spec;
  return plan_aggregation(cluster_of(hosts), job);
}

constexpr aggregators_spec per_host{aggregators_kind::per_host, 0};
constexpr aggregators_spec by(std::uint32_t fan_in) {
  return {aggregators_kind::fan_in, fan_in};
}

// Is [first, end) a node of the canonical tree over `workers` ranks?
bool is_canonical(const rank_node& node, std::uint32_t workers) {
  for (std::uint64_t size = 1; size < 2 * std::uint64_t{workers}; size *= 2)
    if (node.first % size == 0 &&
        std::min<std::uint64_t>(node.first + size, workers) == node.end)
      return true;
  return false;
}

// Every rank reaches a shard by one way, every sum is a node of the tree, and the members of an
// aggregator are what its nodes cover.
void check(const aggregation& planned, std::uint32_t workers) {
  ASSERT_EQ(planned.of_worker.size(), workers);
  std::vector<ranks> members(planned.aggregators.size());
  ranks top;
  const auto add = [&](std::uint32_t parent, std::uint32_t rank) {
    (parent == no_aggregator ? top : members[parent]).push_back(rank);
  };
  for (std::uint32_t rank = 0; rank < workers; ++rank) add(planned.of_worker[rank], rank);
  for (std::uint32_t at = 0; at < planned.aggregators.size(); ++at) {
    const auto& aggregator = planned.aggregators[at];
    ASSERT_GE(aggregator.members.size(), 2u) << "there is something to sum";
    std::size_t covered = 0;
    for (const auto& node : aggregator.nodes) {
      EXPECT_TRUE(is_canonical(node, workers)) << node.first << " to " << node.end;
      add(aggregator.parent, node.first);
      covered += static_cast<std::size_t>(std::count_if(
          aggregator.members.begin(), aggregator.members.end(),
          [&](std::uint32_t rank) { return rank >= node.first && rank < node.end; }));
    }
    EXPECT_EQ(covered, aggregator.members.size());
    if (aggregator.parent != no_aggregator) {
      EXPECT_GT(aggregator.parent, at) << "lower ones first";
      EXPECT_EQ(aggregator.depth, planned.aggregators[aggregator.parent].depth + 1);
    }
  }
  for (std::size_t at = 0; at < members.size(); ++at) {
    std::sort(members[at].begin(), members[at].end());
    EXPECT_EQ(members[at], planned.aggregators[at].members);
  }
  std::sort(top.begin(), top.end());
  EXPECT_EQ(top, planned.top);
}

TEST(aggregation, none_lets_workers_push_to_shards) {
  const auto planned = plan(3, {});
  EXPECT_TRUE(planned.aggregators.empty());
  EXPECT_EQ(planned.top, (ranks{0, 1, 2}));
  EXPECT_EQ(planned.depths(), 0u);
}

TEST(aggregation, fan_in_makes_levels_until_as_many_are_left) {
  EXPECT_TRUE(plan(4, by(4)).aggregators.empty());
  const auto five = plan(5, by(4));
  ASSERT_EQ(five.aggregators.size(), 1u);
  EXPECT_EQ(five.aggregators[0].members, (ranks{0, 1, 2, 3}));
  EXPECT_EQ(five.top, (ranks{0, 4}));
  EXPECT_EQ(five.of_worker[4], no_aggregator);
  const auto nine = plan(9, by(2));
  EXPECT_EQ(nine.aggregators.size(), 7u);
  EXPECT_EQ(nine.depths(), 3u);
  EXPECT_EQ(nine.top, (ranks{0, 8}));
  EXPECT_EQ(nine.aggregators.back().nodes, (nodes{{0, 8}}));
  EXPECT_EQ(nine.aggregators.back().members, (ranks{0, 4}));
  const auto six = plan(6, by(2));  // {4, 5} is summed, and nothing is left to add to it
  EXPECT_EQ(six.top, (ranks{0, 4}));
}

TEST(aggregation, a_host_hands_on_the_fewest_blocks_that_its_ranks_are) {
  const auto even = plan(8, per_host, 2);
  ASSERT_EQ(even.aggregators.size(), 2u);
  EXPECT_EQ(even.aggregators[0].nodes, (nodes{{0, 4}}));
  EXPECT_EQ(even.aggregators[1].nodes, (nodes{{4, 8}}));
  EXPECT_EQ(even.top, (ranks{0, 4}));
  const auto odd = plan(6, per_host, 2);
  EXPECT_EQ(odd.aggregators[0].nodes, (nodes{{0, 2}, {2, 3}}));
  EXPECT_EQ(odd.aggregators[1].nodes, (nodes{{3, 4}, {4, 6}})) << "the last block ends early";
  const auto aggregator = plan(7, per_host);
  ASSERT_EQ(aggregator.aggregators.size(), 1u);
  EXPECT_EQ(aggregator.aggregators[0].nodes, (nodes{{0, 7}}));
  const auto lonely = plan(3, per_host, 2);
  EXPECT_EQ(lonely.aggregators.size(), 1u) << "one worker alone needs nobody";
  EXPECT_EQ(lonely.top, (ranks{0, 2}));
}

constexpr aggregators_spec per_rack{aggregators_kind::per_rack, 0};

// `in_rack` hosts in each, the last of which may have fewer.
aggregation plan_of_racks(std::uint32_t workers, std::uint32_t hosts, std::uint32_t in_rack) {
  auto cluster = cluster_of(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i)
    cluster.hosts[i].rack = "r" + std::to_string(i / in_rack);
  job_spec job;
  job.workers = workers;
  job.aggregators = per_rack;
  return plan_aggregation(cluster, job);
}

TEST(aggregation, a_rack_sums_what_its_hosts_have_summed) {
  const auto even = plan_of_racks(8, 4, 2);
  ASSERT_EQ(even.aggregators.size(), 6u);
  EXPECT_EQ(even.aggregators[4].members, (ranks{0, 2}));
  EXPECT_EQ(even.aggregators[4].nodes, (nodes{{0, 4}}));
  EXPECT_EQ(even.aggregators[0].parent, 4u);
  EXPECT_EQ(even.aggregators[1].parent, 4u);
  EXPECT_EQ(even.aggregators[2].parent, 5u);
  EXPECT_EQ(even.top, (ranks{0, 4}));
  EXPECT_EQ(even.depths(), 2u);
  // Ranks 0 and 1 on the first host, 2 alone on the next, then 3 and 4, and 5 alone.
  const auto odd = plan_of_racks(6, 4, 2);
  ASSERT_EQ(odd.aggregators.size(), 4u);
  EXPECT_EQ(odd.aggregators[2].members, (ranks{0, 2}));
  EXPECT_EQ(odd.aggregators[2].nodes, (nodes{{0, 2}, {2, 3}}));
  EXPECT_EQ(odd.aggregators[3].members, (ranks{3, 4, 5}));
  EXPECT_EQ(odd.aggregators[3].nodes, (nodes{{3, 4}, {4, 6}}));
  EXPECT_EQ(odd.top, (ranks{0, 2, 3, 4}));
  // What a rack of one host hands on is what that does.
  const auto uneven = plan_of_racks(6, 3, 2);
  ASSERT_EQ(uneven.aggregators.size(), 4u);
  EXPECT_EQ(uneven.aggregators[2].parent, no_aggregator);
  EXPECT_EQ(uneven.aggregators[3].nodes, (nodes{{0, 4}}));
  EXPECT_EQ(uneven.top, (ranks{0, 4}));
}

TEST(aggregation, hosts_without_a_rack_are_not_summed_with_others) {
  auto cluster = cluster_of(3);
  cluster.hosts[0].rack = "r";
  cluster.hosts[1].rack = "r";
  job_spec job;
  job.workers = 6;
  job.aggregators = per_rack;
  const auto planned = plan_aggregation(cluster, job);
  ASSERT_EQ(planned.aggregators.size(), 4u);
  EXPECT_EQ(planned.aggregators[2].parent, no_aggregator);
  EXPECT_EQ(planned.top, (ranks{0, 4}));
}

TEST(aggregation, holds_together_whatever_the_numbers) {
  for (std::uint32_t workers = 1; workers <= 40; ++workers) {
    for (const std::uint32_t fan_in : {2u, 4u, 8u, 16u}) {
      const auto planned = plan(workers, by(fan_in));
      check(planned, workers);
      EXPECT_LE(planned.top.size(), std::max(fan_in, 1u));
    }
    for (std::uint32_t hosts = 0; hosts <= 5; ++hosts)
      check(plan(workers, per_host, hosts), workers);
    for (std::uint32_t hosts = 2; hosts <= 7; ++hosts)
      for (std::uint32_t in_rack = 1; in_rack <= 4; ++in_rack)
        check(plan_of_racks(workers, hosts, in_rack), workers);
  }
}

TEST(aggregation, an_aggregator_runs_where_its_members_do) {
  const auto cluster = cluster_of(2);
  job_spec job;
  job.workers = 8;
  job.aggregators = per_host;
  const auto planned = plan_aggregation(cluster, job);
  EXPECT_EQ(host_of_aggregator(cluster, job, planned.aggregators[1]), &cluster.hosts[1]);
}

TEST(hosts, the_coordinator_is_beside_the_launcher_unless_a_prefix_starts_it) {
  cluster_spec cluster;
  EXPECT_TRUE(coordinator_is_beside_launcher(cluster));
  cluster.hosts.resize(2);
  cluster.hosts[0].name = "a";
  cluster.hosts[1].name = "b";
  cluster.hosts[1].prefix = {"ip", "netns", "exec", "b"};
  EXPECT_TRUE(coordinator_is_beside_launcher(cluster));
  cluster.coordinator_host = "b";
  EXPECT_FALSE(coordinator_is_beside_launcher(cluster));
}

}  // namespace
}  // namespace tidegate::policies
