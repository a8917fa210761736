#include "launch/bench/zipf.hpp"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::bench {
namespace {

constexpr int draws = 400'000;

std::vector<double> shares(std::uint64_t count, double theta) {
  const zipf popular(count, theta);
  runtime::rng random(3);
  std::vector<double> found(count);
  for (int i = 0; i < draws; ++i) found.at(popular.draw(random)) += 1.0 / draws;
  return found;
}

TEST(zipf, popular_numbers_have_the_shares_of_the_law) {
  const auto found = shares(1'000, 0.99);
  double sum = 0;
  for (int k = 1; k <= 1'000; ++k) sum += std::pow(k, -0.99);
  EXPECT_NEAR(found[0], 1 / sum, 0.003);
  EXPECT_NEAR(found[1], std::pow(2, -0.99) / sum, 0.003);
  double tail = 0, expected = 0;  // the method is exact for the first two, and near for others
  for (int k = 500; k < 1'000; ++k) {
    tail += found[static_cast<std::size_t>(k)];
    expected += std::pow(k + 1, -0.99) / sum;
  }
  EXPECT_NEAR(tail, expected, 0.01);
}

TEST(zipf, without_popularity_all_are_alike) {
  for (const double share : shares(10, 0)) EXPECT_NEAR(share, 0.1, 0.005);
}

TEST(zipf, may_have_a_single_number) {
  EXPECT_NEAR(shares(1, 0.5)[0], 1, 1e-6);
}

}  // namespace
}  // namespace tidegate::bench
