// Aggregators in the model: what they spare the shards, and what they cost.
#include <gtest/gtest.h>

#include "launch/simulate/scale/model.hpp"

namespace tidegate::sim::scale {
namespace {

using policies::aggregators_kind;
using policies::consistency_kind;

constexpr double mebibyte = 1 << 20;

setting of(consistency_kind policy, std::uint32_t workers, std::uint32_t per_host) {
  setting modelled;
  modelled.consistency = {policy, policy == consistency_kind::ssp ? 2U : 0U};
  modelled.workers = workers;
  modelled.workers_per_host = per_host;
  modelled.clocks = 20;
  modelled.bytes = 64 << 20;
  modelled.chunk_bytes = 1 << 20;
  modelled.compute.mean = 1;
  return modelled;
}

double seconds_per_clock(const setting& combination) {
  return run(combination).seconds / static_cast<double>(combination.clocks);
}

TEST(relays, bytes_to_the_shards_are_divided_by_the_workers_of_a_host) {
  for (const auto policy :
       {consistency_kind::bsp, consistency_kind::ssp, consistency_kind::async}) {
    auto combination = of(policy, 32, 8);
    combination.link_rate = 64 * mebibyte;
    // Under bsp all compute at the same time; else some do while others are served.
    const double computing = policy == consistency_kind::bsp ? 1 : 0;
    EXPECT_NEAR(seconds_per_clock(combination), computing + 32, 1.5) << "incast at the shard";
    combination.aggregators = {aggregators_kind::per_host, 0};
    EXPECT_NEAR(seconds_per_clock(combination), computing + 4, 0.5) << "one sum of each host";
  }
}

TEST(relays, sums_cost_their_aggregator) {
  auto combination = of(consistency_kind::bsp, 8, 8);
  combination.aggregators = {aggregators_kind::per_host, 0};
  combination.sum_rate = 64 * mebibyte;
  // 8 inputs and the sum are 9 s; the shard adds one more gradient, but for a chunk meanwhile.
  EXPECT_NEAR(seconds_per_clock(combination), 1 + 9, 0.5);
  EXPECT_EQ(run(combination).bottleneck, resource::aggregator);
}

TEST(relays, a_straggler_holds_up_its_host_even_under_async) {
  const auto slow = [](std::uint32_t rank, std::uint64_t) { return rank == 0 ? 4.0 : 1.0; };
  auto combination = of(consistency_kind::async, 32, 8);
  EXPECT_NEAR(run(combination, slow).rate, 31 + 0.25, 1);
  combination.aggregators = {aggregators_kind::per_host, 0};
  EXPECT_NEAR(run(combination, slow).rate, 24 + 8 * 0.25, 1.5);
}

TEST(relays, trees_and_unaligned_hosts_run_to_the_end_under_each_policy) {
  for (const auto policy :
       {consistency_kind::bsp, consistency_kind::ssp, consistency_kind::async})
    for (const auto& [workers, per_host, aggregators] :
         {std::tuple{64U, 1U, policies::aggregators_spec{aggregators_kind::fan_in, 4}},
          std::tuple{64U, 4U, policies::aggregators_spec{aggregators_kind::fan_in, 2}},
          std::tuple{13U, 6U, policies::aggregators_spec{aggregators_kind::per_host, 0}}}) {
      auto combination = of(policy, workers, per_host);
      combination.aggregators = aggregators;
      combination.link_rate = 640 * mebibyte;
      combination.latency = 0.01;
      combination.seconds_per_frame = 1e-5;
      combination.compute = {.shape = compute_spec::kind::lognormal, .mean = 1, .spread = 0.5};
      const auto modelled = run(combination);
      EXPECT_EQ(modelled.worker_clocks, workers * combination.clocks);
      EXPECT_LE(modelled.staleness_max, policy == consistency_kind::bsp   ? 0U
                                        : policy == consistency_kind::ssp ? 2U
                                                                          : 20U);
    }
}

}  // namespace
}  // namespace tidegate::sim::scale
