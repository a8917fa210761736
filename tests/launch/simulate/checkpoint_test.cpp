// Checkpoints on disks that fail: whatever crashes when, the newest that was durable, or a
// newer one, is found again, bit for bit.
#include <gtest/gtest.h>

#include "tests/launch/simulate/checkpoint_world.hpp"

namespace tidegate::sim {
namespace {

constexpr std::uint64_t seeds = 20'000;

TEST(checkpoints, are_found_again_whatever_crashes_when) {
  checkpoint_world_result sum;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const auto world = run_checkpoint_world(seed);
    ASSERT_EQ(world.failure, "") << "seed " << seed;
    sum.calls += world.calls;
    sum.crashes += world.crashes;
    sum.checkpoints += world.checkpoints;
    sum.restored += world.restored;
    sum.not_whole += world.not_whole;
    sum.given_up += world.given_up;
    sum.from_another += world.from_another;
  }
  std::printf(
      "%llu calls of the disk, %llu crashes, %llu checkpoints, %llu given up, %llu restored, "
      "%llu of them by another number of shards; %llu found and not whole\n",
      static_cast<unsigned long long>(sum.calls), static_cast<unsigned long long>(sum.crashes),
      static_cast<unsigned long long>(sum.checkpoints),
      static_cast<unsigned long long>(sum.given_up),
      static_cast<unsigned long long>(sum.restored),
      static_cast<unsigned long long>(sum.from_another),
      static_cast<unsigned long long>(sum.not_whole));
  // Else nothing was shown.
  EXPECT_GT(sum.crashes, seeds);
  EXPECT_GT(sum.restored, seeds);
  EXPECT_GT(sum.from_another, seeds / 2);
  EXPECT_GT(sum.given_up, seeds / 2);
  EXPECT_GT(sum.not_whole, seeds / 50);
}

TEST(checkpoints, a_seed_does_the_same_again) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto world = run_checkpoint_world(seed);
    const auto again = run_checkpoint_world(seed);
    EXPECT_EQ(world.calls, again.calls);
    EXPECT_EQ(world.restored, again.restored);
  }
}

}  // namespace
}  // namespace tidegate::sim
