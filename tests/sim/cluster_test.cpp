// Clusters of the standard scenarios, run twice each.
#include "tests/sim/cluster.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/sim/draw_plan.hpp"

namespace tidegate::sim {
namespace {

using policies::consistency_kind;

scenario calm() {
  scenario made;
  made.name = "calm";
  made.policies = {
      {consistency_kind::bsp, 0}, {consistency_kind::ssp, 2}, {consistency_kind::async, 0}};
  made.aggregators = {
      {}, {policies::aggregators_kind::per_host, 0}, {policies::aggregators_kind::fan_in, 2}};
  return made;
}

TEST(cluster, of_a_seed_is_the_same_twice) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto plan = draw_plan(calm(), seed);
    const auto once = run_cluster(plan, seed, false);
    const auto again = run_cluster(plan, seed, false);
    EXPECT_EQ(once.digest, again.digest);
    EXPECT_EQ(once.draws, again.draws);
    EXPECT_EQ(once.events, again.events);
  }
}

TEST(cluster, calm_ones_end_well) {
  const char* seeds = std::getenv("SEEDS");
  const char* first = std::getenv("SEED");
  const std::uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 1;
  const auto end = begin + (seeds ? std::strtoull(seeds, nullptr, 10) : 100);
  std::uint64_t events = 0;
  for (auto seed = begin; seed < end; ++seed) {
    const auto found = run_cluster(draw_plan(calm(), seed), seed, first != nullptr);
    events += found.events;
    if (first) std::fputs(found.text.c_str(), stdout);
    EXPECT_FALSE(found.stuck) << seed;
    for (const auto& one : found.violations)
      ADD_FAILURE() << "seed " << seed << ", " << one.promise << ": " << one.what;
    if (HasFailure()) break;
  }
  RecordProperty("events", std::to_string(events));
  std::printf("%llu events\n", static_cast<unsigned long long>(events));
}

}  // namespace
}  // namespace tidegate::sim
