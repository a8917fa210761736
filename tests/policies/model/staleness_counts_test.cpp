#include "policies/model/staleness_counts.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

TEST(staleness_counts, have_a_range_for_each_staleness) {
  for (std::size_t range = 0; range < staleness_ranges.size(); ++range) {
    EXPECT_EQ(staleness_range_of(staleness_ranges[range]), range);
    if (range > 0) {
      EXPECT_EQ(staleness_range_of(staleness_ranges[range] - 1), range - 1);
    }
  }
  EXPECT_EQ(staleness_range_of(std::numeric_limits<std::uint64_t>::max()),
            staleness_ranges.size() - 1);
}

}  // namespace
}  // namespace tidegate::policies
