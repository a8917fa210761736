// Kills on purpose, drawn from a seed: who, when and how; never somebody of another role,
// nobody left stopped.
#include "policies/supervision/chaos_core.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr std::int64_t ms = 1'000'000;

std::vector<chaos_target> cluster() {
  std::vector<chaos_target> all{
      {.name = {.role = process_role::coordinator, .job = "", .index = 0},
       .pid = 10,
       .started = 1},
      {.name = {.role = process_role::shard, .job = "", .index = 0}, .pid = 11, .started = 1},
      {.name = {.role = process_role::shard, .job = "", .index = 1}, .pid = 12, .started = 1}};
  for (std::uint32_t rank = 0; rank < 3; ++rank)
    all.push_back({{.role = process_role::worker, .job = "mlp", .index = rank},
                   20 + static_cast<int>(rank),
                   1});
  return all;
}

struct timed {
  std::int64_t at = 0;
  chaos_order order;
};

// Wakes the core whenever it asks, and brings the killed back as another life at once.
std::vector<timed> carry_out(const chaos_plan& plan, std::vector<chaos_target> living,
                             std::size_t orders_max = 1000) {
  chaos_core core(plan, 0);
  std::vector<timed> seen;
  while (!core.done() && seen.size() < orders_max) {
    const auto now = core.next_wake();
    std::vector<chaos_order> out;
    core.wake(now, living, out);
    for (const auto& order : out) {
      seen.push_back({now, order});
      if (order.choice.act != chaos_act::kill) continue;
      const auto at = std::find(living.begin(), living.end(), order.target);
      EXPECT_NE(at, living.end()) << "who is dead is killed once more";
      if (at != living.end()) ++at->started;
    }
  }
  return seen;
}

std::vector<std::string> text(const std::vector<timed>& all) {
  std::vector<std::string> lines;
  for (const auto& [at, order] : all)
    lines.push_back(std::to_string(at) + " " +
                    std::to_string(static_cast<int>(order.choice.act)) + " " +
                    order.target.name.to_string());
  return lines;
}

TEST(chaos_core, a_seed_draws_the_same_in_any_order_of_the_list) {
  chaos_plan plan;
  plan.hits_max = 50;
  plan.actions = {{}, {chaos_act::stop, 30}};
  auto other = cluster();
  std::reverse(other.begin(), other.end());
  const auto names = text(carry_out(plan, cluster()));
  EXPECT_EQ(names, text(carry_out(plan, other)));
  plan.seed = 2;
  EXPECT_NE(names, text(carry_out(plan, cluster())));
}

TEST(chaos_core, hits_the_roles_it_was_given_and_each_of_them) {
  chaos_plan plan;
  plan.hits_max = 200;
  plan.roles = {process_role::worker, process_role::shard};
  std::map<std::string, int> hits;
  for (const auto& timed : carry_out(plan, cluster()))
    ++hits[timed.order.target.name.to_string()];
  EXPECT_EQ(hits.size(), 5U);
  EXPECT_EQ(hits.count("coordinator-0"), 0U);
  for (const auto& [name, times] : hits) EXPECT_GT(times, 20) << name;
}

TEST(chaos_core, pauses_are_within_the_range_and_use_all_of_it) {
  chaos_plan plan;
  plan.hits_max = 500;
  plan.pause_first_ms = 3;
  plan.pause_last_ms = 7;
  std::set<std::int64_t> pauses;
  std::int64_t before = 0;
  for (const auto& timed : carry_out(plan, cluster())) {
    pauses.insert((timed.at - before) / ms);
    before = timed.at;
  }
  EXPECT_EQ(pauses, (std::set<std::int64_t>{3, 4, 5, 6, 7}));
}

TEST(chaos_core, ends_with_the_count_or_the_time) {
  chaos_plan plan;
  plan.pause_first_ms = plan.pause_last_ms = 10;
  plan.hits_max = 7;
  EXPECT_EQ(carry_out(plan, cluster()).size(), 7U);
  plan.for_ms = 35;
  EXPECT_EQ(carry_out(plan, cluster()).size(), 3U);
  plan.hits_max = 0;
  plan.for_ms = 0;
  EXPECT_EQ(carry_out(plan, cluster(), 600).size(), 600U);
}

TEST(chaos_core, who_is_stopped_goes_on_though_the_hits_are_over) {
  chaos_plan plan;
  plan.pause_first_ms = plan.pause_last_ms = 10;
  plan.actions = {{chaos_act::stop, 300}};
  plan.hits_max = 3;
  const auto seen = carry_out(plan, cluster());
  ASSERT_EQ(seen.size(), 6U);
  std::set<int> stopped;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(seen[i].order.choice.act, chaos_act::stop);
    EXPECT_EQ(seen[i + 3].order.choice.act, chaos_act::go_on);
    EXPECT_EQ(seen[i].order.target, seen[i + 3].order.target);
    EXPECT_EQ(seen[i + 3].at - seen[i].at, 300 * ms);
    stopped.insert(seen[i].order.target.pid);
  }
  EXPECT_EQ(stopped.size(), 3U) << "who is stopped is not stopped again";
}

TEST(chaos_core, an_end_lets_the_stopped_go_on_at_once) {
  chaos_plan plan;
  plan.actions = {{chaos_act::stop, 60'000}};
  chaos_core core(plan, 0);
  const auto living = cluster();
  std::vector<chaos_order> out;
  core.wake(core.next_wake(), living, out);
  ASSERT_EQ(out.size(), 1U);
  EXPECT_FALSE(core.done());
  core.end(out);
  ASSERT_EQ(out.size(), 2U);
  EXPECT_EQ(out[1].choice.act, chaos_act::go_on);
  EXPECT_EQ(out[1].target, out[0].target);
  EXPECT_TRUE(core.done());
  EXPECT_EQ(core.next_wake(), chaos_core::never);
}

TEST(chaos_core, who_is_dying_is_not_hit_again_and_a_new_life_is) {
  chaos_plan plan;
  plan.pause_first_ms = plan.pause_last_ms = 10;
  chaos_core core(plan, 0);
  std::vector<chaos_target> living{
      {.name = {.role = process_role::worker, .job = "mlp", .index = 0},
       .pid = 20,
       .started = 1}};
  std::vector<chaos_order> out;
  core.wake(10 * ms, living, out);
  ASSERT_EQ(out.size(), 1U);
  core.wake(20 * ms, living, out);  // still listed
  EXPECT_EQ(out.size(), 1U);
  EXPECT_EQ(core.next_wake(), 20 * ms + chaos_core::look_again_ns);
  living[0].started = 2;  // the same pid
  core.wake(core.next_wake(), living, out);
  EXPECT_EQ(out.size(), 2U);
}

TEST(chaos_core, a_hit_that_missed_does_not_count) {
  chaos_plan plan;
  plan.hits_max = 1;
  chaos_core core(plan, 0);
  const auto living = cluster();
  std::vector<chaos_order> out;
  core.wake(core.next_wake(), living, out);
  ASSERT_TRUE(core.done());
  core.missed(out[0].target);
  EXPECT_FALSE(core.done());
  EXPECT_EQ(core.hits(), 0U);
  core.wake(core.next_wake(), living, out);
  EXPECT_EQ(out.size(), 2U);
  EXPECT_TRUE(core.done());
}

TEST(choose_target, takes_one_of_the_role_by_seed) {
  std::set<int> chosen;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const auto target = choose_target(cluster(), process_role::worker, seed);
    ASSERT_TRUE(target);
    EXPECT_EQ(target->name.role, process_role::worker);
    EXPECT_EQ(target->pid, choose_target(cluster(), process_role::worker, seed)->pid);
    chosen.insert(target->pid);
  }
  EXPECT_EQ(chosen.size(), 3U);
  EXPECT_FALSE(choose_target(cluster(), process_role::aggregator, 1));
}

TEST(chaos_core, hits_on_hosts_and_disks_need_no_process) {
  chaos_plan plan;
  plan.pause_first_ms = plan.pause_last_ms = 10;
  plan.hits_max = 40;
  plan.actions = {{chaos_act::partition, 200}, {chaos_act::fill, 30}};
  plan.hosts = {"a", "b"};
  chaos_core core(plan, 0);
  std::set<std::string> seen;
  for (std::int64_t hit = 1; hit <= 40; ++hit) {
    std::vector<chaos_order> out;
    core.wake(hit * 10 * ms, {}, out);
    ASSERT_EQ(out.size(), 1U);
    seen.insert(std::to_string(out[0].choice.for_ms) + " " + out[0].host);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"200 a", "200 b", "30 "}));
  EXPECT_TRUE(core.done());
}

}  // namespace
}  // namespace tidegate::policies
