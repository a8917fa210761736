#include "policies/protocol/double_buffer.hpp"

#include <random>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

TEST(double_buffer, stays_while_everything_is_acknowledged) {
  double_buffer half;
  for (std::uint64_t clock = 0; clock < 5; ++clock) EXPECT_EQ(half.at(clock, false), 0U);
}

TEST(double_buffer, is_decided_once_per_clock) {
  double_buffer half;
  EXPECT_EQ(half.at(0, false), 0U);
  EXPECT_EQ(half.at(0, true), 0U) << "of this clock's own pushes";
  EXPECT_EQ(half.at(1, true), 1U);
  EXPECT_EQ(half.at(1, false), 1U) << "acknowledged later: too late to move";
  EXPECT_EQ(half.at(2, false), 1U);
}

// As workers run: at most the clock before is unacknowledged when a clock begins.
TEST(double_buffer, is_never_one_that_may_still_be_read) {
  std::mt19937 random(1);
  double_buffer half;
  bool before_under_way = false;
  std::uint32_t before = 0;
  for (std::uint64_t clock = 0; clock < 10'000; ++clock) {
    const bool under_way = before_under_way && random() % 2 == 0;  // or acknowledged meanwhile
    const auto now = half.at(clock, under_way);
    ASSERT_LT(now, 2U);
    if (under_way) {
      ASSERT_NE(now, before) << clock;
    }
    before = now;
    before_under_way = random() % 2 == 0;
  }
}

}  // namespace
}  // namespace tidegate::policies
