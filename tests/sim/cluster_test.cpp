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

scenario rough() {
  auto made = calm();
  made.name = "rough";
  made.faults.latency_max = 2 * millisecond;
  made.faults.duplicate = 0.2;
  made.faults.straggle = 0.05;
  made.skip = 0.2;
  made.pause = 0.1;
  made.pause_max = 20 * millisecond;
  made.jobs = {1, 2};
  made.partitions = {0, 3};
  made.no_window = 0.3;
  return made;
}

scenario deadly() {
  auto made = rough();
  made.name = "deadly";
  made.deaths = {1, 3};
  made.no_memory = 0.02;
  made.may_fail = true;
  return made;
}

void run(const scenario& what);

TEST(cluster, rough_ones_end_well) {
  run(rough());
}
TEST(cluster, deadly_ones_keep_their_promises) {
  run(deadly());
}
TEST(cluster, calm_ones_end_well) {
  run(calm());
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

void run(const scenario& what) {
  const char* seeds = std::getenv("SEEDS");
  const char* first = std::getenv("SEED");
  const std::uint64_t begin = first ? std::strtoull(first, nullptr, 10) : 1;
  const auto end = begin + (seeds ? std::strtoull(seeds, nullptr, 10) : 100);
  std::uint64_t events = 0;
  int ends[3] = {};
  for (auto seed = begin; seed < end; ++seed) {
    const auto found = run_cluster(draw_plan(what, seed), seed, first != nullptr);
    events += found.events;
    ++ends[static_cast<int>(found.how)];
    if (first) std::fputs(found.text.c_str(), stdout);
    EXPECT_FALSE(found.stuck) << seed;
    for (const auto& one : found.violations)
      ADD_FAILURE() << "seed " << seed << ", " << one.promise << ": " << one.what;
    if (testing::Test::HasFailure()) break;
  }
  std::printf("%llu events; done %d failed %d died %d\n",
              static_cast<unsigned long long>(events), ends[0], ends[1], ends[2]);
}

}  // namespace
}  // namespace tidegate::sim
