#include "launch/run/launch_plan.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

policies::cluster_spec two_hosts() {
  policies::cluster_spec spec;
  spec.shards = 2;
  spec.hosts = {{.name = "a", .address = "10.0.0.1", .prefix = {}},
                {.name = "b", .address = "10.0.0.2", .prefix = {"remote"}, .room = 3}};
  auto& job = spec.jobs.emplace_back();
  job.name = "mlp";
  job.workers = 4;
  job.max_workers = 6;
  return spec;
}

TEST(launch_plan, has_one_host_where_none_has_an_agent_of_its_own) {
  auto spec = two_hosts();
  spec.hosts[1].prefix.clear();
  const auto plan = launch_plan_of(spec, 1);
  EXPECT_TRUE(plan.hosts.empty());
  EXPECT_TRUE(plan.homes.empty());
  EXPECT_EQ(own_hosts(spec), (std::vector<std::string>{"a", "b"}));
}

TEST(launch_plan, gives_each_process_that_there_may_be_its_home) {
  const auto plan = launch_plan_of(two_hosts(), 1);
  ASSERT_EQ(plan.hosts.size(), 2U);
  EXPECT_EQ(plan.hosts[0].name, "a");
  EXPECT_EQ(plan.hosts[0].room, std::nullopt);
  EXPECT_EQ(plan.hosts[1].name, "b");
  EXPECT_EQ(plan.hosts[1].room, 3U);
  EXPECT_EQ(plan.homes.at("coordinator-0"), 0U);
  EXPECT_EQ(plan.homes.at("shard-1"), 1U);
  EXPECT_EQ(plan.homes.at("worker-mlp-1"), 0U);
  EXPECT_EQ(plan.homes.at("worker-mlp-3"), 1U);
  EXPECT_EQ(plan.homes.at("worker-mlp-5"), 0U) << "as rank 1";
  EXPECT_EQ(own_hosts(two_hosts()), std::vector<std::string>{"a"});
}

TEST(launch_plan, lets_nobody_come_to_a_launcher_that_is_on_no_host) {
  auto spec = two_hosts();
  spec.hosts[0].prefix = {"remote"};
  const auto plan = launch_plan_of(spec, 1);
  ASSERT_EQ(plan.hosts.size(), 3U);
  EXPECT_EQ(plan.hosts[0].room, 0U);
  EXPECT_EQ(plan.homes.at("coordinator-0"), 1U);
  EXPECT_TRUE(own_hosts(spec).empty());
}

TEST(launch_plan, adds_up_the_room_of_the_launchers_own_hosts) {
  auto spec = two_hosts();
  spec.hosts[0].room = 1;
  spec.hosts.push_back({.name = "c", .address = "10.0.0.3", .prefix = {}, .room = 2});
  EXPECT_EQ(launch_plan_of(spec, 1).hosts[0].room, 3U);
  spec.hosts[2].room.reset();
  EXPECT_EQ(launch_plan_of(spec, 1).hosts[0].room, std::nullopt);
}

}  // namespace
}  // namespace tidegate::launch
