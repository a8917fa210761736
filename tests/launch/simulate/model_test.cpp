// The model against cases that can be computed by hand.
#include "launch/simulate/scale/model.hpp"

#include <gtest/gtest.h>

namespace tidegate::sim::scale {
namespace {

using policies::consistency_kind;

constexpr double mib = 1 << 20;

// One second of computing and nothing else, unless a test adds it.
setting only_compute(policies::consistency_spec policy, std::uint32_t workers) {
  setting modelled;
  modelled.consistency = policy;
  modelled.workers = workers;
  modelled.clocks = 20;
  modelled.bytes = 64 << 20;
  modelled.compute.mean = 1;
  return modelled;
}

double seconds_per_clock(const outcome& of, const setting& combination) {
  return of.seconds / static_cast<double>(combination.clocks);
}

TEST(model, bsp_without_stragglers_is_compute_then_transfer) {
  auto combination = only_compute({consistency_kind::bsp, 0}, 4);
  combination.link_rate = 64 * mib;  // a second for a gradient
  combination.latency = 0.25;
  combination.chunk_bytes = 1 << 20;
  // The four pushes share the shard's link for 4 s. Replies follow a chunk later: of each
  // pusher one, then as many of the replies, and one more at the worker's own link.
  const double chunk = 1.0 / 64;
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), 1 + 4 + 2 * 0.25, 10 * chunk);
  combination.shards =
      4;  // a shard's link has a quarter of each gradient, a worker's all of it
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), 1 + 1 + 2 * 0.25, 10 * chunk);
}

TEST(model, every_link_on_the_way_adds_a_chunk) {
  auto combination = only_compute({consistency_kind::bsp, 0}, 1);
  combination.link_rate = 64 * mib;
  combination.chunk_bytes = 1 << 20;
  // Out, in, out and in: the last chunk leaves the first link after a second.
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), 1 + 1 + 3.0 / 64, 1e-6);
}

TEST(model, bsp_runs_as_the_slowest_does) {
  const auto combination = only_compute({consistency_kind::bsp, 0}, 8);
  const auto modelled =
      run(combination, [](std::uint32_t rank, std::uint64_t) { return rank == 3 ? 3.0 : 1.0; });
  EXPECT_DOUBLE_EQ(seconds_per_clock(modelled, combination), 3);
  EXPECT_NEAR(modelled.waiting_mean, 7.0 / 8 * 2 / 3, 1e-9);
  EXPECT_NEAR(modelled.parked_mean, modelled.waiting_mean, 1e-9)
      << "all of it for the straggler";
  EXPECT_EQ(modelled.bottleneck, resource::stragglers);
  EXPECT_EQ(modelled.staleness_max, 0U);
}

TEST(model, bsp_waits_for_whoever_is_slow_in_turn) {
  const auto combination = only_compute({consistency_kind::bsp, 0}, 4);
  const auto modelled = run(combination, [](std::uint32_t rank, std::uint64_t clock) {
    return clock % 4 == rank ? 2.0 : 1.0;
  });
  EXPECT_DOUBLE_EQ(seconds_per_clock(modelled, combination), 2);
}

// One worker is late by some clocks, once.
double delayed(std::uint32_t staleness, double by) {
  const auto combination = only_compute({consistency_kind::ssp, staleness}, 4);
  double third_done = 0;
  const auto modelled = run(combination, [&](std::uint32_t rank, std::uint64_t clock) {
    return rank == 3 && clock == 5 ? 1 + by : 1.0;
  });
  third_done = modelled.parked_mean;
  return third_done * modelled.seconds * combination.workers;
}

TEST(model, ssp_hides_a_delay_of_as_many_clocks) {
  EXPECT_NEAR(delayed(3, 3), 0, 1e-9);
  EXPECT_NEAR(delayed(3, 4), 3 * 1, 1e-9) << "three workers wait for a second";
  EXPECT_NEAR(delayed(0, 2), 3 * 2, 1e-9);
}

TEST(model, ssp_keeps_its_bound_beside_a_slow_worker) {
  const auto combination = only_compute({consistency_kind::ssp, 3}, 8);
  const auto modelled =
      run(combination, [](std::uint32_t rank, std::uint64_t) { return rank == 0 ? 4.0 : 1.0; });
  EXPECT_EQ(modelled.staleness_max, 3U);
}

TEST(model, async_waits_for_nobody) {
  const auto combination = only_compute({consistency_kind::async, 0}, 8);
  const auto modelled =
      run(combination, [](std::uint32_t rank, std::uint64_t) { return rank == 0 ? 5.0 : 1.0; });
  EXPECT_DOUBLE_EQ(modelled.parked_mean, 0);
  EXPECT_NEAR(modelled.waiting_mean, 0, 1e-9);
  EXPECT_GT(modelled.staleness_max, 3U);
  EXPECT_NEAR(modelled.rate, 7 + 0.2, 0.3);
}

TEST(model, shards_share_the_work_of_sums) {
  auto combination = only_compute({consistency_kind::bsp, 0}, 8);
  combination.compute.mean = 0;
  combination.chunk_bytes = 1 << 20;
  combination.sum_rate = 64 * mib;
  combination.step_rate = 32 * mib;
  // 8 gradients of a second each, and a step of 2.
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), 8 + 2, 0.2);
  EXPECT_EQ(run(combination).bottleneck, resource::shard);
  combination.shards = 2;
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), (8 + 2) / 2.0, 0.2);
}

TEST(model, async_steps_once_per_push) {
  auto combination = only_compute({consistency_kind::async, 0}, 8);
  combination.compute.mean = 0;
  combination.sum_rate = 64 * mib;
  combination.step_rate = 32 * mib;
  EXPECT_NEAR(run(combination).rate, 1.0 / 3, 0.01);
}

TEST(model, processes_of_a_host_share_its_memory) {
  auto combination = only_compute({consistency_kind::bsp, 0}, 4);
  combination.compute.mean = 0;
  combination.chunk_bytes = 1 << 20;
  combination.one_host = true;
  combination.sum_rate = 64 * mib;
  combination.shards = 4;
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), 1, 0.1);
  combination.memory_rate = 128 * mib;
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), 2, 0.1);
}

TEST(model, workers_of_a_host_share_its_link) {
  auto combination = only_compute({consistency_kind::bsp, 0}, 4);
  combination.shards = 64;
  combination.chunk_bytes = 1 << 20;
  combination.link_rate = 64 * mib;
  combination.workers_per_host = 4;
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), 1 + 4, 0.2);
  EXPECT_EQ(run(combination).bottleneck, resource::host_link);
}

TEST(model, a_frame_costs_its_receiver_time) {
  auto combination = only_compute({consistency_kind::bsp, 0}, 4);
  combination.compute.mean = 0;
  combination.chunk_bytes = 1 << 20;
  combination.seconds_per_frame = 0.01;
  // 64 chunks of four workers, there and back.
  EXPECT_NEAR(seconds_per_clock(run(combination), combination), 64 * 4 * 2 * 0.01, 0.1);
}

TEST(model, equal_seeds_give_equal_outcomes) {
  auto combination = only_compute({consistency_kind::ssp, 2}, 50);
  combination.compute = {.shape = compute_spec::kind::lognormal, .mean = 0.1, .spread = 0.5};
  combination.link_rate = 1e9;
  const auto single = run(combination), same = run(combination);
  EXPECT_EQ(single.seconds, same.seconds);
  EXPECT_EQ(single.waiting_p99, same.waiting_p99);
  EXPECT_EQ(single.staleness_mean, same.staleness_mean);
  EXPECT_EQ(single.steps, same.steps);
  combination.seed = 2;
  EXPECT_NE(run(combination).seconds, single.seconds);
}

}  // namespace
}  // namespace tidegate::sim::scale
