#include "examples/fashion_mnist/sampler.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidegate::examples {
namespace {

using testing::ElementsAre;

std::vector<std::uint32_t> batch_of(const sampler_options& options, std::uint64_t clock) {
  sampler fresh(options);
  const auto batch = fresh.batch(clock);
  return {batch.begin(), batch.end()};
}

// All that the workers visit in one epoch, in order of clock and rank.
std::vector<std::uint32_t> epoch_of(sampler_options options, std::uint64_t epoch) {
  std::vector<std::uint32_t> seen;
  const std::uint64_t clocks = sampler(options).clocks_per_epoch();
  for (std::uint64_t clock = epoch * clocks; clock < (epoch + 1) * clocks; ++clock) {
    for (options.rank = 0; options.rank < options.workers; ++options.rank) {
      const auto batch = batch_of(options, clock);
      seen.insert(seen.end(), batch.begin(), batch.end());
    }
  }
  return seen;
}

TEST(sampler, workers_partition_every_epoch) {
  const sampler_options options{.seed = 7, .samples = 240, .workers = 4, .batch = 5};
  for (std::uint64_t epoch : {0U, 1U, 5U}) {
    auto seen = epoch_of(options, epoch);
    EXPECT_FALSE(std::is_sorted(seen.begin(), seen.end()));
    std::sort(seen.begin(), seen.end());
    ASSERT_EQ(seen.size(), 240U);
    for (std::uint32_t i = 0; i < 240; ++i) ASSERT_EQ(seen[i], i) << "epoch " << epoch;
  }
}

TEST(sampler, a_rest_is_left_out_and_nothing_comes_twice) {
  const auto seen = epoch_of({.seed = 7, .samples = 250, .workers = 4, .batch = 5}, 0);
  EXPECT_EQ(seen.size(), 240U);
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 240U);
  EXPECT_LT(*std::max_element(seen.begin(), seen.end()), 250U);
}

TEST(sampler, depends_on_nothing_but_its_options_and_the_clock) {
  const sampler_options options{.seed = 3, .samples = 100, .workers = 2, .rank = 1, .batch = 5};
  sampler forwards(options);
  for (std::uint64_t clock = 0; clock < 35; ++clock) forwards.batch(clock);
  for (std::uint64_t clock : {34U, 0U, 19U, 20U}) {
    const auto here = forwards.batch(clock);
    EXPECT_EQ(std::vector(here.begin(), here.end()), batch_of(options, clock)) << clock;
  }
}

TEST(sampler, seed_and_epoch_change_the_order) {
  sampler_options options{.seed = 3, .samples = 240, .workers = 2, .batch = 12};
  const auto first = epoch_of(options, 0);
  EXPECT_NE(first, epoch_of(options, 1));
  options.seed = 4;
  EXPECT_NE(first, epoch_of(options, 0));
}

// A change here changes the SHA-256 of every job: it must be on purpose.
TEST(sampler, order_is_fixed_for_ever) {
  splitmix64 random(0);
  EXPECT_EQ(random.next(), 0xe220a8397b1dcdafULL);  // the published first output of seed 0
  EXPECT_EQ(random.next(), 0x6e789e6aa1b965f4ULL);
  EXPECT_THAT(batch_of({.seed = 1, .samples = 60'000, .workers = 4, .rank = 2, .batch = 4}, 9),
              ElementsAre(59394, 2747, 26155, 57095));
}

TEST(splitmix64, below_reaches_every_value_and_no_more) {
  splitmix64 random(5);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.below(7));
  EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace tidegate::examples
