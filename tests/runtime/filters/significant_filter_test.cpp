#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/support/allocations.hpp"
#include <tidegate/filters.hpp>

namespace tidegate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using ids_t = std::vector<std::uint64_t>;
using floats = std::vector<float>;

significant_filter filter_of(const significant_options& options) {
  return significant_filter::create(options).value();
}

template <class T>
std::vector<T> copy_of(std::span<const T> values) {
  return {values.begin(), values.end()};
}

TEST(significant_filter, holds_rows_back_until_their_sum_is_large_enough) {
  auto filter = filter_of({.dim = 2, .threshold = 1.0F});
  auto kept = filter.add(ids_t{5, 3}, floats{0.5F, 1.0F, 0, -1.5F}).value();
  EXPECT_THAT(copy_of(kept.ids), ElementsAre(3));
  EXPECT_THAT(copy_of(kept.gradients), ElementsAre(0, -1.5F));
  EXPECT_EQ(filter.held(), 1U) << "at the threshold a row stays";
  kept = filter.add(ids_t{5}, floats{0.25F, 0.25F}).value();
  EXPECT_THAT(copy_of(kept.ids), ElementsAre(5));
  EXPECT_THAT(copy_of(kept.gradients), ElementsAre(0.75F, 1.25F)) << "with the sum";
  EXPECT_EQ(filter.held(), 0U);
  kept = filter.add(ids_t{5}, floats{0.25F, 0.25F}).value();
  EXPECT_TRUE(kept.ids.empty()) << "from 0 again";
  EXPECT_EQ(filter.seen(), 4U);
  EXPECT_EQ(filter.kept(), 2U);
}

TEST(significant_filter, adds_gradients_of_equal_ids_first) {
  auto filter = filter_of({.dim = 1, .threshold = 1.0F});
  const auto kept = filter.add(ids_t{4, 9, 4, 9}, floats{0.75F, 2.0F, 0.75F, -1.5F}).value();
  EXPECT_THAT(copy_of(kept.ids), ElementsAre(4)) << "the sum of 9 is not large";
  EXPECT_THAT(copy_of(kept.gradients), ElementsAre(1.5F));
  EXPECT_EQ(filter.seen(), 2U);
}

TEST(significant_filter, compares_with_values_where_it_is_relative) {
  auto filter = filter_of({.dim = 2, .threshold = 0.5F, .relative = 0.125F});
  const floats values = {0, -4, 4, 8, 0, 0};
  const auto kept = filter.add(ids_t{1, 2, 3}, floats{1.25F, 0, 1.25F, 0, 0.75F, 0}, values);
  EXPECT_THAT(copy_of(kept->ids), ElementsAre(1, 3));
  EXPECT_THAT(filter.add(ids_t{2}, floats{0, 0}).error().message(),
              HasSubstr("1 ids of rows of 2 and 0 values; allowed: 2"));
  EXPECT_FALSE(filter_of({.dim = 1}).add(ids_t{2}, floats{0}, floats{0}))
      << "values that nothing is compared with";
}

TEST(significant_filter, lets_go_of_everything_by_id) {
  auto filter = filter_of({.dim = 1, .threshold = 100.0F});
  ASSERT_TRUE(filter.add(ids_t{1ULL << 63, 7, 70}, floats{1, 2, 3}));
  ASSERT_TRUE(filter.add(ids_t{7}, floats{3}));
  auto kept = filter.flush();
  EXPECT_THAT(copy_of(kept.ids), ElementsAre(7, 70, 1ULL << 63));
  EXPECT_THAT(copy_of(kept.gradients), ElementsAre(5, 3, 1));
  EXPECT_EQ(filter.held(), 0U);
  EXPECT_TRUE(filter.flush().ids.empty());
}

TEST(significant_filter, lets_a_nan_pass) {
  auto filter = filter_of({.dim = 2, .threshold = 100.0F});
  const floats gradients = {0, std::numeric_limits<float>::quiet_NaN()};
  EXPECT_EQ(filter.add(ids_t{7}, gradients)->ids.size(), 1U);
}

TEST(significant_filter, is_bounded) {
  auto filter = filter_of({.dim = 1, .threshold = 10.0F, .rows_max = 2});
  auto kept = filter.add(ids_t{1, 2, 3, 4}, floats{1, 1, 1, 1}).value();
  EXPECT_THAT(copy_of(kept.ids), ElementsAre(3, 4)) << "no room";
  kept = filter.add(ids_t{5, 1, 6}, floats{1, 20, 1}).value();
  EXPECT_THAT(copy_of(kept.ids), ElementsAre(5, 1)) << "and 6 has that of 1";
  EXPECT_EQ(filter.held(), 2U);
}

// Nothing is lost or doubled: what goes and what is held is what came, row by row.
TEST(significant_filter, loses_nothing) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    runtime::rng random(runtime::mix64(seed));
    auto filter = filter_of({.dim = 1, .threshold = 8.0F, .rows_max = 40});
    std::map<std::uint64_t, float> came, went;  // whole numbers, so that sums are exact
    const auto take = [&](const kept_rows& kept) {
      for (std::size_t i = 0; i < kept.ids.size(); ++i) went[kept.ids[i]] += kept.gradients[i];
    };
    for (int call = 0; call < 200; ++call) {
      ids_t ids(random.below(20));
      floats gradients(ids.size());
      for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[i] = random.below(60);
        gradients[i] = static_cast<float>(random.below(9)) - 4.0F;
        came[ids[i]] += gradients[i];
      }
      take(filter.add(ids, gradients).value());
      ASSERT_LE(filter.held(), 40U);
    }
    take(filter.flush());
    for (const auto& [id, sum] : came) ASSERT_EQ(went[id], sum) << id << ", seed " << seed;
  }
}

TEST(significant_filter, goes_on_from_its_state) {
  const significant_options options{.dim = 2, .threshold = 1.0F};
  auto before = filter_of(options), other_way = filter_of(options);
  ASSERT_TRUE(before.add(ids_t{9, 4}, floats{0.5F, 0.1F, 0.2F, 0}));
  ASSERT_TRUE(other_way.add(ids_t{4, 9}, floats{0.2F, 0, 0.5F, 0.1F}));
  EXPECT_EQ(before.save(), other_way.save()) << "whatever the order";
  auto after = filter_of(options);
  ASSERT_TRUE(after.restore(before.save()).ok());
  EXPECT_EQ(after.held(), 2U);
  const floats more = {0.6F, 0, 0.7F, 0.3F};
  const auto expected = before.add(ids_t{9, 4}, more).value();
  const auto got = after.add(ids_t{9, 4}, more).value();
  EXPECT_EQ(copy_of(got.ids), copy_of(expected.ids));
  EXPECT_EQ(copy_of(got.gradients), copy_of(expected.gradients));
  EXPECT_EQ(after.save(), before.save());
}

TEST(significant_filter, refuses_bytes_that_are_no_state) {
  auto full = filter_of({.dim = 1, .threshold = 5.0F});
  ASSERT_TRUE(full.add(ids_t{1, 2, 3}, floats{1, 1, 1}));
  const auto good = full.save();
  auto filter = filter_of({.dim = 1, .threshold = 5.0F});
  for (std::size_t size = 0; size < good.size(); ++size)
    ASSERT_EQ(filter.restore(std::span(good).first(size)).code(), errc::invalid_argument);
  auto longer = good;
  longer.push_back(std::byte{0});
  EXPECT_EQ(filter.restore(longer).code(), errc::invalid_argument);
  EXPECT_EQ(filter_of({.dim = 2}).restore(good).code(), errc::invalid_argument);
  EXPECT_EQ(filter_of({.dim = 1, .rows_max = 2}).restore(good).code(), errc::invalid_argument);
  EXPECT_EQ(filter.restore(kkt_filter::create({.dim = 1})->save()).code(),
            errc::invalid_argument);
  EXPECT_EQ(filter.held(), 0U);
  EXPECT_TRUE(filter.restore(good).ok());
}

TEST(significant_filter, allocates_nothing_once_its_memory_has_grown) {
  auto filter = filter_of({.dim = 2, .threshold = 1.0F});
  ids_t ids(500);
  floats gradients(1'000, 0.4F);
  const auto round = [&](std::uint64_t first) {
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = first + i * 3;
    return filter.add(ids, gradients).has_value();
  };
  const auto run = [&] {
    for (std::uint64_t i = 0; i < 50; ++i) {
      if (!round(i / 4 * 10'000)) return false;
      if (i % 8 == 7) filter.flush();
    }
    filter.flush();
    return true;
  };
  ASSERT_TRUE(run());
  const auto before = tests::allocations();
  ASSERT_TRUE(run());
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate
