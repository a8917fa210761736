// Scenarios of simulated clusters, from YAML.
#include "launch/simulate/read_scenario.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace tidegate::simulate {
namespace {

constexpr const char* least = "name: mine\ncluster:\n  policies: [bsp]\n";

TEST(read_scenario, stalls_have_a_number_an_end_and_roles) {
  const auto read = read_scenario(
      std::string(least) + "stalls:\n  count: 1..4\n  last: 3s\n  of: [shard, worker]\n", "x");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->stalls.low, 1U);
  EXPECT_EQ(read->stalls.high, 4U);
  EXPECT_EQ(read->stall_max, 3 * sim::second);
  EXPECT_EQ(read->stalling, (std::vector<sim::role>{sim::role::shard, sim::role::worker}));
  const auto without = read_scenario(least, "x");
  ASSERT_TRUE(without);
  EXPECT_EQ(without->stalls.high, 0U);
}

TEST(read_scenario, a_role_that_may_not_stall_is_told_with_those_that_may) {
  const auto read = read_scenario(std::string(least) + "stalls:\n  of: [coordinator]\n", "x");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("worker, shard, aggregator"), std::string::npos)
      << read.error().message();
}

TEST(read_scenario, the_standard_mix_has_stalls_of_every_role) {
  const auto mix = standard_mix();
  const auto stalled = std::find_if(mix.begin(), mix.end(),
                                    [](const auto& one) { return one.name == "stalled"; });
  ASSERT_NE(stalled, mix.end());
  std::vector<int> of(5);
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    for (const auto& one : draw_plan(*stalled, seed).stalls) {
      ++of[static_cast<std::size_t>(one.whose)];
      EXPECT_GE(one.lasts, 1);
      EXPECT_LE(one.lasts, stalled->stall_max);
    }
  for (const auto whose : {sim::role::worker, sim::role::shard, sim::role::aggregator})
    EXPECT_GT(of[static_cast<std::size_t>(whose)], 0);
}

}  // namespace
}  // namespace tidegate::simulate
