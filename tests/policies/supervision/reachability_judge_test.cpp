#include "policies/supervision/reachability_judge.hpp"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr std::int64_t second = 1000 * millisecond;
constexpr std::int64_t unreachable = 10 * second;
constexpr std::int64_t due = reachability_judge::judged_after(unreachable);

struct cluster {
  std::map<std::string, reachability_judge::member> members;
  reachability_judge judge{unreachable};

  auto verdict(std::int64_t now) {
    return judge.judge(
        now, [this](const std::string& address) -> std::optional<reachability_judge::member> {
          const auto at = members.find(address);
          if (at == members.end()) return {};
          return at->second;
        });
  }
  // It has been reporting them since two seconds before.
  void report(const std::string& reporter, std::vector<unreachable_peer> peers,
              std::int64_t now) {
    for (const auto before : {2 * second, second, std::int64_t{0}})
      judge.report(reporter, peers, now - before);
  }
};

cluster of_three() {
  return {.members = {{"p", {.name = "shard-0", .cost = loss_cost::primary}},
                      {"v", {.name = "worker-mlp-0", .cost = loss_cost::worker}},
                      {"w", {.name = "worker-mlp-1", .cost = loss_cost::worker}}}};
}

TEST(reachability_judge, nobody_is_condemned_before_the_time_is_up) {
  auto three = of_three();
  three.report("w", {{.address = "p", .for_ns = due - 1}}, 100 * second);
  EXPECT_FALSE(three.verdict(100 * second));
  EXPECT_EQ(three.judge.outages(100 * second).size(), 1u);
}

TEST(reachability_judge, of_two_the_one_whose_loss_costs_less_is_condemned_once) {
  auto three = of_three();
  three.report("p", {{.address = "w", .for_ns = due}}, 100 * second);
  const auto first = three.verdict(100 * second);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->condemned, "w");
  EXPECT_EQ(first->peer, "shard-0");
  EXPECT_EQ(first->for_ns, due);
  EXPECT_FALSE(three.verdict(100 * second));
  three.report("p", {{.address = "w", .for_ns = due + second}}, 101 * second);
  EXPECT_FALSE(three.verdict(101 * second)) << "its death is on its way";
}

TEST(reachability_judge, the_one_that_is_cut_off_from_most_is_condemned) {
  auto three = of_three();
  three.report("v", {{.address = "p", .for_ns = due}}, 100 * second);
  three.report("w", {{.address = "p", .for_ns = due - second}}, 100 * second);
  const auto verdict = three.verdict(100 * second);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->name, "shard-0");
  EXPECT_FALSE(three.verdict(100 * second)) << "the workers have nobody left to miss";
}

TEST(reachability_judge, a_network_that_stays_divided_does_not_end_the_same_side_for_ever) {
  auto three = of_three();
  three.report("w", {{.address = "p", .for_ns = due}}, 100 * second);
  ASSERT_EQ(three.verdict(100 * second)->name, "worker-mlp-1");
  three.members.erase("w");
  three.members["x"] = {.name = "worker-mlp-1", .cost = loss_cost::worker};
  three.report("x", {{.address = "p", .for_ns = due}}, 120 * second);
  const auto second_verdict = three.verdict(120 * second);
  ASSERT_TRUE(second_verdict);
  EXPECT_EQ(second_verdict->name, "shard-0");
}

// Shards that move: two members of slot 0, one of slot 1, and a worker.
TEST(reachability_judge, the_members_of_a_process_are_condemned_together_at_what_all_cost) {
  cluster slots{.members = {{"a", {.name = "shard-0", .cost = loss_cost::going_back}},
                            {"b", {.name = "shard-0", .cost = loss_cost::going_back}},
                            {"c", {.name = "shard-1", .cost = loss_cost::primary}}}};
  const std::vector<unreachable_peer> both{{.address = "a", .for_ns = due},
                                           {.address = "b", .for_ns = due}};
  slots.report("c", both, 100 * second);
  const auto verdict = slots.verdict(100 * second);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->name, "shard-1") << "each misses one process, and this one costs less";
  EXPECT_FALSE(slots.verdict(100 * second));
}

TEST(reachability_judge, what_is_not_reported_any_more_counts_no_longer) {
  auto three = of_three();
  three.report("w", {{.address = "p", .for_ns = due}}, 100 * second);
  EXPECT_FALSE(three.verdict(103 * second));
  three.report("w", {{.address = "p", .for_ns = due}}, 110 * second);
  three.judge.report("w", {}, 110 * second);
  EXPECT_FALSE(three.verdict(110 * second)) << "it has a connection again";
  three.report("w", {{.address = "p", .for_ns = due}}, 120 * second);
  EXPECT_FALSE(three.verdict(50 * second)) << "the clock was set back";
}

// A coordinator that takes another's place hears of them one after the other.
TEST(reachability_judge, the_first_reports_are_not_judged_before_others_have_come) {
  auto three = of_three();
  const std::vector<unreachable_peer> shard{{.address = "p", .for_ns = due}};
  three.judge.report("v", shard, 100 * second);
  EXPECT_FALSE(three.verdict(100 * second));
  three.judge.report("w", shard, 101 * second);
  three.judge.report("v", shard, 101 * second);
  EXPECT_FALSE(three.verdict(101 * second));
  three.judge.report("v", shard, 102 * second);
  const auto verdict = three.verdict(102 * second);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->name, "shard-0") << "both miss it";
}

// A shard's replica, a worker and another shard are on a host that is lost; the shard misses
// more of them than any of them is missed by. The launcher tells that they have died in time.
TEST(reachability_judge, who_misses_a_lost_host_is_not_condemned_for_that) {
  cluster hosts{.members = {{"s", {.name = "shard-1", .cost = loss_cost::primary}},
                            {"r", {.name = "replica-1", .cost = loss_cost::replica}},
                            {"w", {.name = "worker-mlp-4", .cost = loss_cost::worker}}}};
  hosts.report(
      "s", {{.address = "r", .for_ns = unreachable}, {.address = "w", .for_ns = unreachable}},
      100 * second);
  EXPECT_FALSE(hosts.verdict(100 * second));
  hosts.members.erase("r");
  hosts.members.erase("w");
  hosts.report("s", {{.address = "r", .for_ns = due}, {.address = "w", .for_ns = due}},
               103 * second);
  EXPECT_FALSE(hosts.verdict(103 * second));
}

TEST(reachability_judge, a_peer_that_has_died_is_another_matter) {
  auto three = of_three();
  three.members.erase("p");
  three.report("w", {{.address = "p", .for_ns = due}}, 100 * second);
  EXPECT_FALSE(three.verdict(100 * second));
}

}  // namespace
}  // namespace tidegate::policies
