#include "policies/shard/late_spans.hpp"

#include <gtest/gtest.h>

#include "tests/support/allocations.hpp"

namespace tidegate::policies::sharding {
namespace {

job_arrivals taken(late_spans& from) {
  job_arrivals all;
  from.take(all);
  return all;
}

TEST(late_spans, tell_each_clock_where_these_are_few) {
  late_spans spans(2);
  spans.add({.clock = 5, .rank = 1, .late_ns = 7});
  spans.add({.clock = 6, .rank = 0, .late_ns = 0});
  spans.add({.clock = 7, .rank = 0, .late_ns = 9});
  const auto all = taken(spans);
  EXPECT_EQ(all.span_log2, 0U);
  EXPECT_EQ(all.late, (std::vector<latest_arrival>{{.clock = 5, .rank = 1, .late_ns = 7},
                                                   {.clock = 7, .rank = 0, .late_ns = 9}}));
  EXPECT_TRUE(taken(spans).late.empty());
}

TEST(late_spans, sum_over_aligned_spans_where_clocks_are_many) {
  late_spans spans(3);
  constexpr std::uint64_t clocks = 5000;
  for (std::uint64_t clock = 100; clock < 100 + clocks; ++clock)
    spans.add({.clock = clock, .rank = static_cast<std::uint32_t>(clock % 3), .late_ns = 2});
  const auto all = taken(spans);
  EXPECT_LE(all.late.size(), 128U);
  EXPECT_GT(all.span_log2, 5U);
  EXPECT_LE(all.span_log2, 8U) << "no wider than there is need for";
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < all.late.size(); ++i) {
    sum += all.late[i].late_ns;
    EXPECT_EQ(all.late[i].clock % (std::uint64_t{1} << all.span_log2), 0U);
    if (i > 0) {
      EXPECT_LE(all.late[i - 1].clock, all.late[i].clock);
    }
  }
  EXPECT_EQ(sum, 2 * clocks);
  spans.add({.clock = 7001, .rank = 0, .late_ns = 1});
  EXPECT_EQ(taken(spans).late.front().clock, 7001U) << "spans begin anew";
}

TEST(late_spans, have_room_for_all_ranks) {
  constexpr std::uint32_t ranks = 500;
  late_spans spans(ranks);
  const auto before = tests::allocations();
  for (std::uint64_t clock = 0; clock < 20'000; ++clock)
    spans.add(
        {.clock = clock, .rank = static_cast<std::uint32_t>(clock % ranks), .late_ns = 1});
  EXPECT_EQ(tests::allocations(), before);
  std::uint64_t sum = 0;
  for (const auto& late : taken(spans).late) sum += late.late_ns;
  EXPECT_EQ(sum, 20'000U);
}

}  // namespace
}  // namespace tidegate::policies::sharding
