// The plan of policies/placement/aggregation_tree.hpp, by indices.
#include "launch/simulate/scale/topology.hpp"

#include <gtest/gtest.h>

namespace tidegate::sim::scale {
namespace {

using policies::aggregators_kind;

setting of(std::uint32_t workers, std::uint32_t per_host,
           policies::aggregators_spec aggregators) {
  setting made;
  made.workers = workers;
  made.workers_per_host = per_host;
  made.aggregators = aggregators;
  return made;
}

// Everybody's uplink names him, and every worker leads to the shards.
void expect_sound(const topology& plan) {
  const auto member_at = [&](const uplink& up) {
    return (up.aggregator == the_shards ? plan.top : plan.relays[up.aggregator].members)
        .at(up.member);
  };
  for (std::uint32_t rank = 0; rank < plan.of_rank.size(); ++rank) {
    const auto me = member_at(plan.of_rank[rank]);
    EXPECT_TRUE(me.is_worker);
    EXPECT_EQ(me.index, rank);
  }
  for (std::uint32_t at = 0; at < plan.relays.size(); ++at)
    for (std::uint32_t node = 0; node < plan.relays[at].nodes.size(); ++node) {
      const auto me = member_at(plan.relays[at].nodes[node]);
      EXPECT_FALSE(me.is_worker);
      EXPECT_EQ(me.index, at);
      EXPECT_EQ(me.node, node);
    }
}

TEST(topology, without_aggregators_all_push_to_the_shards) {
  const auto plan = plan_topology(of(10, 4, {}));
  expect_sound(plan);
  EXPECT_EQ(plan.hosts, 3U);
  EXPECT_EQ(plan.top.size(), 10U);
  EXPECT_TRUE(plan.relays.empty());
}

TEST(topology, one_aggregator_sums_each_host) {
  const auto plan = plan_topology(of(32, 8, {aggregators_kind::per_host, 0}));
  expect_sound(plan);
  ASSERT_EQ(plan.relays.size(), 4U);
  EXPECT_EQ(plan.top.size(), 4U);
  for (std::uint32_t host = 0; host < 4; ++host) {
    EXPECT_EQ(plan.relays[host].host, host);
    EXPECT_EQ(plan.relays[host].members.size(), 8U);
  }
}

TEST(topology, a_host_that_is_no_block_hands_on_several_sums) {
  const auto plan = plan_topology(of(12, 6, {aggregators_kind::per_host, 0}));
  expect_sound(plan);
  ASSERT_EQ(plan.relays.size(), 2U);
  EXPECT_GT(plan.relays[0].nodes.size(), 1U);
}

TEST(topology, a_tree_has_levels) {
  const auto plan = plan_topology(of(64, 1, {aggregators_kind::fan_in, 4}));
  expect_sound(plan);
  EXPECT_EQ(plan.relays.size(), 16U + 4U);
  EXPECT_EQ(plan.top.size(), 4U);
}

}  // namespace
}  // namespace tidegate::sim::scale
