#include "policies/worker/slow_compute.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

TEST(slow_compute, pauses_so_that_each_clock_takes_the_factor) {
  slow_compute slow(3);
  EXPECT_TRUE(slow.is_on());
  EXPECT_EQ(slow.pause_ns(0, 10), 20U);
  slow.went_on(31);  // a pause takes a little longer than it should
  EXPECT_EQ(slow.pause_ns(0, 31), 0U) << "a second push of the clock";
  EXPECT_EQ(slow.pause_ns(1, 41), 20U);
}

TEST(slow_compute, is_of_its_clocks_alone) {
  slow_compute slow(2, 5, 7);
  EXPECT_EQ(slow.pause_ns(4, 10), 0U);
  slow.went_on(10);
  EXPECT_EQ(slow.pause_ns(5, 20), 10U) << "not of what was computed before";
  slow.went_on(30);
  EXPECT_EQ(slow.pause_ns(6, 40), 10U);
  slow.went_on(50);
  EXPECT_EQ(slow.pause_ns(7, 60), 0U);
}

TEST(slow_compute, is_off_without_a_factor) {
  const slow_compute slow;
  EXPECT_FALSE(slow.is_on());
  EXPECT_EQ(slow.pause_ns(9, 1000), 0U);
}

}  // namespace
}  // namespace tidegate::policies
