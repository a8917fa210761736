#include "policies/model/clock_vector.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"

namespace tidegate::policies {
namespace {

TEST(clock_vector, min_equals_a_scan_over_random_advances) {
  runtime::rng random(7);
  for (int round = 0; round < 50; ++round) {
    const auto workers = static_cast<std::uint32_t>(1 + random.below(9));
    clock_vector clocks(workers);
    std::vector<std::uint64_t> plain(workers, 0);
    for (int step = 0; step < 200; ++step) {
      const auto rank = static_cast<std::uint32_t>(random.below(workers));
      if (plain[rank] == clock_vector::infinity) continue;
      plain[rank] =
          random.below(60) == 0 ? clock_vector::infinity : plain[rank] + random.below(3);
      clocks.advance(rank, plain[rank]);
      ASSERT_EQ(clocks.min(), *std::min_element(plain.begin(), plain.end()));
      ASSERT_EQ(clocks.through(rank), plain[rank]);
    }
  }
}

TEST(clock_vector, all_finished_is_infinity) {
  clock_vector clocks(2);
  clocks.finish(0);
  EXPECT_EQ(clocks.min(), 0u);
  clocks.finish(1);
  EXPECT_EQ(clocks.min(), clock_vector::infinity);
}

TEST(clock_vector_death, never_goes_back) {
  clock_vector clocks(1);
  clocks.advance(0, 3);
  EXPECT_DEATH(clocks.advance(0, 2), "clocks only rise");
}

}  // namespace
}  // namespace tidegate::policies
