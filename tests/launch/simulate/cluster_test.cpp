// Clusters of the standard scenarios: the same twice, and clean.
#include "launch/simulate/cluster/cluster.hpp"

#include <gtest/gtest.h>

#include "launch/simulate/cluster/simulate.hpp"
#include "launch/simulate/read_scenario.hpp"

namespace tidegate::sim {
namespace {

TEST(cluster, of_a_seed_is_the_same_to_the_last_draw) {
  for (const auto& of : tidegate::simulate::standard_mix())
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const auto plan = draw_plan(of, seed);
      const auto once = run_cluster(plan, seed, false);
      const auto again = run_cluster(plan, seed, true);
      EXPECT_EQ(once.digest, again.digest) << of.name << ", seed " << seed;
      EXPECT_EQ(once.draws, again.draws);
      EXPECT_EQ(once.events, again.events);
      EXPECT_TRUE(once.text.empty());
      EXPECT_NE(again.text.find("launcher: the run has ended"), std::string::npos);
    }
}

// What is never forced or turned guards nothing; the report says what that is.
TEST(simulate, forces_every_branch_and_turns_every_knob) {
  auto mix = tidegate::simulate::standard_mix();
  for (auto& of : tidegate::simulate::all_scenarios()) {
    if (of.on_devices == 0) continue;
    of.weight = 20;
    mix.push_back(of);
  }
  const auto report = simulate({.first_seed = 1,
                                .seeds = 1,
                                .mix = tidegate::simulate::standard_mix(),
                                .failures_max = 1},
                               [] { return true; });
  EXPECT_FALSE(report.never_turned.empty());
  EXPECT_FALSE(report.never_forced.empty());
  const auto many = simulate({.first_seed = 1, .seeds = 500, .mix = mix, .failures_max = 1},
                             [] { return true; });
  EXPECT_EQ(many.never_turned, std::vector<std::string>());
  EXPECT_EQ(many.never_forced, std::vector<std::string>());
}

class standard : public testing::TestWithParam<sim::scenario> {};

TEST_P(standard, is_clean) {
  const auto found =
      simulate({.first_seed = 1, .seeds = 50, .mix = {GetParam()}, .failures_max = 1},
               [] { return true; });
  EXPECT_EQ(found.clusters, 50u);
  for (const auto& failure : found.failures) {
    ADD_FAILURE() << "seed " << failure.seed << (failure.stuck ? " is stuck" : "");
    for (const auto& v : failure.violations) ADD_FAILURE() << v.promise << ": " << v.message;
  }
}

INSTANTIATE_TEST_SUITE_P(mix, standard, testing::ValuesIn(tidegate::simulate::standard_mix()),
                         [](const auto& of) { return of.param.name; });

}  // namespace
}  // namespace tidegate::sim
