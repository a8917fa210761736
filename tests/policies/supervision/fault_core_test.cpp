// The faults of a run's own file: at a clock, at a time, and those that are drawn.
#include "policies/supervision/fault_core.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr std::int64_t ms = 1'000'000;

class fault_core_test : public testing::Test {
 protected:
  std::vector<chaos_target> living{
      {.name = {.role = process_role::shard, .job = "", .index = 0}, .pid = 11, .started = 0},
      {.name = {.role = process_role::worker, .job = "mlp", .index = 1},
       .pid = 21,
       .started = 0}};
  using lines = std::vector<std::string>;

  static timed_fault at_clock(std::uint64_t clock, std::string process,
                              chaos_choice choice = {}) {
    return {.clock = clock, .after_ms = 0, .target = std::move(process), .choice = choice};
  }
  static timed_fault at_time(std::uint64_t after_ms, std::string process,
                             chaos_choice choice = {}) {
    return {.clock = std::nullopt,
            .after_ms = after_ms,
            .target = std::move(process),
            .choice = choice};
  }
  lines wake(fault_core& core, std::int64_t now, std::uint64_t clock) const {
    std::vector<chaos_order> out;
    core.wake(now, living, clock, out);
    lines seen;
    for (const auto& order : out) {
      const auto act = order.choice.act;
      seen.push_back(act == chaos_act::partition ? "cut off " + order.host
                     : act == chaos_act::kill    ? "kill " + order.target.name.to_string()
                     : act == chaos_act::stop    ? "stop " + order.target.name.to_string()
                                                 : "continue " + order.target.name.to_string());
    }
    return seen;
  }
};

TEST_F(fault_core_test, without_drawn_ones_nothing_is_drawn) {
  fault_core core(
      {.seed = 1, .link = {}, .random = std::nullopt, .timed = {at_clock(5, "shard-0")}}, 0);
  EXPECT_EQ(core.next_wake(), fault_core::never) << "news of clocks wake it";
  EXPECT_EQ(wake(core, 3'600'000 * ms, 4), lines{});
}

TEST_F(fault_core_test, at_a_clock_once) {
  fault_core core({.seed = 1,
                   .link = {},
                   .random = std::nullopt,
                   .timed = {at_clock(5, "shard-0"), at_clock(9, "worker-mlp-1")}},
                  0);
  EXPECT_EQ(wake(core, 1 * ms, 7), lines{"kill shard-0"}) << "a clock may be skipped";
  EXPECT_EQ(wake(core, 2 * ms, 8), lines{});
  EXPECT_EQ(wake(core, 3 * ms, 9), lines{"kill worker-mlp-1"});
  EXPECT_EQ(wake(core, 4 * ms, 99), lines{});
}

TEST_F(fault_core_test, at_a_time_and_who_is_stopped_goes_on) {
  fault_core core({.seed = 1,
                   .link = {},
                   .random = std::nullopt,
                   .timed = {at_time(100, "worker-mlp-1", {chaos_act::stop, 30})}},
                  7 * ms);
  EXPECT_EQ(core.next_wake(), 107 * ms);
  EXPECT_EQ(wake(core, 106 * ms, 0), lines{});
  EXPECT_EQ(wake(core, 107 * ms, 0), lines{"stop worker-mlp-1"});
  EXPECT_EQ(core.next_wake(), 137 * ms);
  EXPECT_EQ(wake(core, 137 * ms, 0), lines{"continue worker-mlp-1"});
  EXPECT_EQ(core.next_wake(), fault_core::never);
}

TEST_F(fault_core_test, one_that_is_being_replaced_is_hit_when_it_is_back) {
  fault_core core(
      {.seed = 1, .link = {}, .random = std::nullopt, .timed = {at_time(0, "shard-0")}}, 0);
  const auto shard = living.front();
  living.erase(living.begin());
  EXPECT_EQ(wake(core, 1 * ms, 0), lines{});
  EXPECT_EQ(core.next_wake(), 11 * ms) << "looks again";
  living.push_back(shard);
  EXPECT_EQ(wake(core, 11 * ms, 0), lines{"kill shard-0"});
}

TEST_F(fault_core_test, two_of_one_process_hit_two_lives) {
  fault_core core({.seed = 1,
                   .link = {},
                   .random = std::nullopt,
                   .timed = {at_clock(5, "shard-0"), at_clock(6, "shard-0")}},
                  0);
  EXPECT_EQ(wake(core, 1 * ms, 60), lines{"kill shard-0"});
  EXPECT_EQ(wake(core, 11 * ms, 60), lines{}) << "it is still dying";
  living.front().pid = 12;
  EXPECT_EQ(wake(core, 21 * ms, 60), lines{"kill shard-0"});
}

TEST_F(fault_core_test, drawn_ones_come_beside_the_others) {
  chaos_plan plan;
  plan.pause_first_ms = plan.pause_last_ms = 50;
  plan.hits_max = 2;
  fault_core core({.seed = 1, .link = {}, .random = plan, .timed = {at_time(60, "shard-0")}},
                  0);
  EXPECT_EQ(core.next_wake(), 50 * ms);
  EXPECT_EQ(wake(core, 50 * ms, 0), lines{"kill worker-mlp-1"});
  EXPECT_EQ(wake(core, 60 * ms, 0), lines{"kill shard-0"});
  living.back().pid = 22;  // its successor
  EXPECT_EQ(wake(core, 100 * ms, 0), lines{"kill worker-mlp-1"});
  EXPECT_EQ(core.next_wake(), fault_core::never);
}

TEST_F(fault_core_test, a_host_is_cut_off_whoever_lives) {
  fault_core core({.seed = 1,
                   .link = {},
                   .random = std::nullopt,
                   .timed = {at_clock(5, "there", {chaos_act::partition, 30})}},
                  0);
  living.clear();
  EXPECT_EQ(wake(core, 1 * ms, 4), lines{});
  EXPECT_EQ(wake(core, 2 * ms, 5), lines{"cut off there"});
  EXPECT_EQ(wake(core, 3 * ms, 6), lines{});
}

}  // namespace
}  // namespace tidegate::policies
