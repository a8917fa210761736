#include "policies/model/membership_schedule.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

TEST(membership_schedule, a_mean_is_over_who_pushes_the_clock) {
  membership_schedule member(4);
  EXPECT_EQ(member.contributors(0), 4U);
  member.change(10, false);
  member.change(7, false);
  member.change(8, true);
  EXPECT_EQ(member.contributors(6), 4U);
  EXPECT_EQ(member.contributors(7), 3U);
  EXPECT_EQ(member.contributors(8), 4U);
  EXPECT_EQ(member.contributors(10), 3U);
  EXPECT_EQ(member.contributors(~std::uint64_t{0}), 3U);
}

}  // namespace
}  // namespace tidegate::policies
