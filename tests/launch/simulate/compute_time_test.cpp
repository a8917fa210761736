#include "launch/simulate/scale/compute_time.hpp"

#include <gtest/gtest.h>

namespace tidegate::sim::scale {
namespace {

double mean_of(const compute_spec& spec, std::uint32_t rank = 0) {
  const compute_time times(spec, 4, 7);
  constexpr std::uint64_t clocks = 20'000;
  double sum = 0;
  for (std::uint64_t clock = 0; clock < clocks; ++clock) sum += times.seconds(rank, clock);
  return sum / clocks;
}

TEST(compute_time, has_its_mean_whatever_its_shape) {
  using kind = compute_spec::kind;
  EXPECT_DOUBLE_EQ(mean_of({.shape = kind::constant, .mean = 2}), 2);
  EXPECT_NEAR(mean_of({.shape = kind::lognormal, .mean = 2, .spread = 0.5}), 2, 0.05);
  EXPECT_NEAR(mean_of({.shape = kind::exponential, .mean = 2, .spread = 0.5}), 2, 0.05);
}

TEST(compute_time, exponential_draws_only_a_share) {
  const compute_time times(
      {.shape = compute_spec::kind::exponential, .mean = 2, .spread = 0.25}, 1, 7);
  for (std::uint64_t clock = 0; clock < 1000; ++clock) EXPECT_GE(times.seconds(0, clock), 1.5);
}

TEST(compute_time, pauses_come_on_top_and_as_often_as_said) {
  EXPECT_NEAR(mean_of({.mean = 1, .pause_chance = 0.1, .pause_seconds = 5}), 1.5, 0.05);
}

TEST(compute_time, a_share_of_the_workers_is_slow_and_at_least_one) {
  const auto slow_of = [](double fraction, std::uint32_t workers) {
    const compute_time times({.mean = 1, .slow_fraction = fraction, .slow_factor = 3}, workers,
                             7);
    std::uint32_t slow = 0;
    for (std::uint32_t rank = 0; rank < workers; ++rank) {
      const auto seconds = times.seconds(rank, 5);
      EXPECT_TRUE(seconds == 1 || seconds == 3) << seconds;
      EXPECT_EQ(times.seconds(rank, 6), seconds) << "a slow worker stays slow";
      slow += seconds == 3 ? 1 : 0;
    }
    return slow;
  };
  EXPECT_EQ(slow_of(0, 100), 0U);
  EXPECT_EQ(slow_of(0.001, 100), 1U);
  EXPECT_EQ(slow_of(0.05, 100), 5U);
  EXPECT_EQ(slow_of(1, 100), 100U);
}

TEST(compute_time, depends_on_seed_rank_and_clock_alone) {
  const compute_spec spec{.shape = compute_spec::kind::lognormal, .mean = 1, .spread = 1};
  const compute_time one(spec, 4, 7), same(spec, 4, 7), other(spec, 4, 8);
  EXPECT_EQ(one.seconds(2, 9), same.seconds(2, 9));
  EXPECT_NE(one.seconds(2, 9), other.seconds(2, 9));
  EXPECT_NE(one.seconds(2, 9), one.seconds(1, 9));
  EXPECT_NE(one.seconds(2, 9), one.seconds(2, 8));
}

}  // namespace
}  // namespace tidegate::sim::scale
