#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/allocations.hpp"
#include <tidegate/filters.hpp>

namespace tidegate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using ids_t = std::vector<std::uint64_t>;
using floats = std::vector<float>;

constexpr auto nan = std::numeric_limits<float>::quiet_NaN();
constexpr auto infinity = std::numeric_limits<float>::infinity();

kkt_filter filter_of(const kkt_options& options) {
  return kkt_filter::create(options).value();
}

floats copy_of(std::span<const float> values) {
  return {values.begin(), values.end()};
}
ids_t copy_of(std::span<const std::uint64_t> ids) {
  return {ids.begin(), ids.end()};
}

TEST(kkt_filter, drops_rows_that_the_step_would_leave_at_0) {
  auto filter = filter_of({.dim = 1, .l1 = 0.5F});
  const ids_t ids = {9, 8, 7, 6, 5, 4};
  const floats values = {0.0F, -0.0F, 0.0F, 1e-30F, 0.0F, 0.0F};
  const floats gradients = {0.5F, -0.5F, std::nextafter(0.5F, 1.0F), 0.0F, -0.75F, nan};
  const auto kept = filter.rows(ids, values, gradients).value();
  EXPECT_THAT(copy_of(kept.ids), ElementsAre(7, 6, 5, 4)) << "at the bound a row stays at 0";
  EXPECT_EQ(copy_of(kept.gradients).front(), std::nextafter(0.5F, 1.0F));
  EXPECT_TRUE(std::isnan(kept.gradients[3])) << "a NaN reaches the push, which reports it";
  EXPECT_EQ(filter.seen(), 6U);
  EXPECT_EQ(filter.kept(), 4U);
}

TEST(kkt_filter, keeps_a_row_whole_where_an_element_violates) {
  auto filter = filter_of({.dim = 3, .l1 = 1.0F});
  const floats values = {0, 0, 0, 0, 0, 0, 0, 2, 0};
  const floats gradients = {1, -1, 0, 0.25F, 0, 1.5F, 0, 0, 0};
  const auto kept = filter.rows(ids_t{1, 2, 3}, values, gradients).value();
  EXPECT_THAT(copy_of(kept.ids), ElementsAre(2, 3));
  EXPECT_THAT(copy_of(kept.gradients), ElementsAre(0.25F, 0, 1.5F, 0, 0, 0));
}

TEST(kkt_filter, keeps_more_by_its_slack) {
  auto filter = filter_of({.dim = 1, .l1 = 1.0F, .slack = 0.25F});
  EXPECT_EQ(filter.threshold(), 0.75F);
  const floats zeros(3), gradients = {0.75F, 0.8F, -0.8F};
  EXPECT_THAT(copy_of(filter.rows(ids_t{1, 2, 3}, zeros, gradients)->ids), ElementsAre(2, 3));
  auto all = filter_of({.dim = 1, .l1 = 1.0F, .slack = 2.0F});
  EXPECT_EQ(all.rows(ids_t{1, 2, 3}, zeros, zeros)->ids.size(), 3U) << "below 0: none goes";
}

TEST(kkt_filter, measures_violations_and_follows_their_share) {
  auto filter = filter_of({.dim = 1, .l1 = 1.0F, .l2 = 2.0F, .slack_share = 0.5F});
  const ids_t ids = {1, 2, 3};
  const floats none(3);
  EXPECT_EQ(filter.rows(ids, none, none)->ids.size(), 3U) << "before a pass nothing is dropped";
  filter.end_pass();
  EXPECT_EQ(filter.threshold(), 1.0F);
  // At w = 0.5 the conditions ask for g = -(l1 + l2 w) = -2, at w = -0.5 for 2.
  ASSERT_TRUE(filter.rows(ids, floats{0.5F, -0.5F, 0.0F}, floats{-2.0F, 2.25F, 1.125F}));
  EXPECT_EQ(filter.violation(), 0.25F);
  EXPECT_EQ(filter.threshold(), 1.0F) << "until the pass ends";
  filter.end_pass();
  EXPECT_EQ(filter.violation(), 0.0F);
  EXPECT_EQ(filter.threshold(), 0.875F);
  ASSERT_TRUE(filter.rows(ids, none, floats{nan, 0.0F, infinity}));
  filter.end_pass();
  EXPECT_EQ(filter.threshold(), -infinity);
}

TEST(kkt_filter, cuts_ranges_to_what_is_left) {
  auto filter = filter_of({.l1 = 1.0F});
  const std::vector<element_range> ranges = {{10, 16}, {16, 18}, {100, 101}};
  const floats values = {0, 0, 0, 0, 0, 0, 0, 0, 0};
  const floats gradients = {0, 2, 3, 0, 0, 4, 5, 0, 0.5F};
  auto kept = filter.ranges(ranges, values, gradients).value();
  EXPECT_THAT(kept.ranges,
              ElementsAre(element_range{11, 13}, element_range{15, 16}, element_range{16, 17}));
  EXPECT_THAT(copy_of(kept.gradients), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(filter.seen(), 9U);
  EXPECT_EQ(filter.kept(), 4U);

  auto wide = filter_of({.l1 = 1.0F, .gap = 2});
  kept = wide.ranges(ranges, values, gradients).value();
  EXPECT_THAT(kept.ranges, ElementsAre(element_range{11, 16}, element_range{16, 17}));
  EXPECT_THAT(copy_of(kept.gradients), ElementsAre(2, 3, 0, 0, 4, 5));

  kept = filter.ranges(ranges, values, floats(9)).value();
  EXPECT_THAT(kept.ranges, IsEmpty());
}

TEST(kkt_filter, refuses_what_is_wrong_and_stays_as_it_was) {
  for (const auto& wrong : {kkt_options{.dim = 0},
                            {.dim = 4097},
                            {.l1 = -1.0F},
                            {.l1 = nan},
                            {.l2 = infinity},
                            {.slack = -0.5F},
                            {.slack_share = nan}})
    EXPECT_EQ(kkt_filter::create(wrong).error().code(), errc::invalid_argument);
  EXPECT_THAT(kkt_filter::create({.l1 = -1.0F}).error().message(),
              HasSubstr("kkt_filter: l1 -1.000000; allowed: finite numbers, 0 and more"));
  auto filter = filter_of({.dim = 2, .l1 = 1.0F});
  EXPECT_THAT(filter.rows(ids_t{1, 2}, floats(4), floats(3)).error().message(),
              HasSubstr("2 ids of rows of 2 and 3 elements of gradients; allowed: 4"));
  EXPECT_FALSE(filter.rows(ids_t{1, 2}, floats(5), floats(4)));
  for (const auto& ranges :
       {std::vector<element_range>{{3, 3}}, {{4, 6}, {5, 7}}, {{4, 6}, {1, 2}}})
    EXPECT_EQ(filter.ranges(ranges, floats(4), floats(4)).error().code(),
              errc::invalid_argument);
  EXPECT_FALSE(filter.ranges(std::vector<element_range>{{0, 4}}, floats(3), floats(4)));
  EXPECT_EQ(filter.seen(), 0U);
  EXPECT_EQ(filter.violation(), 0.0F);
}

TEST(kkt_filter, goes_on_from_its_state) {
  const kkt_options options{.dim = 1, .l1 = 1.0F, .slack_share = 0.5F};
  auto before = filter_of(options);
  const ids_t ids = {1, 2};
  ASSERT_TRUE(before.rows(ids, floats{0, 0}, floats{1.5F, 0}));
  before.end_pass();
  ASSERT_TRUE(before.rows(ids, floats{0, 0}, floats{0.8F, 1.25F}));
  auto after = filter_of(options);
  ASSERT_TRUE(after.restore(before.save()).ok());
  EXPECT_EQ(after.threshold(), 0.75F);
  EXPECT_EQ(after.violation(), 0.25F);
  EXPECT_EQ(after.seen(), 4U);
  EXPECT_EQ(after.kept(), before.kept());
  EXPECT_EQ(after.save(), before.save());

  auto other = filter_of({.dim = 2, .l1 = 1.0F});
  EXPECT_EQ(other.restore(before.save()).code(), errc::invalid_argument);
  auto cut = before.save();
  cut.pop_back();
  EXPECT_EQ(after.restore(cut).code(), errc::invalid_argument);
  EXPECT_EQ(after.restore({}).code(), errc::invalid_argument);
  EXPECT_EQ(after.threshold(), 0.75F);
}

TEST(kkt_filter, allocates_nothing_once_its_memory_has_grown) {
  auto filter = filter_of({.dim = 2, .l1 = 1.0F});
  const ids_t ids = {1, 2, 3};
  const std::vector<element_range> ranges = {{0, 3}, {5, 8}};
  const floats zeros(6), gradients = {2, 2, 0, 0, 2, 2};
  const auto call = [&] {
    return filter.rows(ids, zeros, gradients) && filter.ranges(ranges, zeros, gradients);
  };
  ASSERT_TRUE(call());
  const auto before = tests::allocations();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(call());
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate
