#include "policies/coordinator/late_book.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tidegate::policies::coordination {
namespace {

job_arrivals below(std::uint64_t clock, std::vector<latest_arrival> late,
                   std::uint32_t span_log2 = 0) {
  return {.ranks = std::vector<rank_arrivals>(2),
          .closed_below = clock,
          .span_log2 = span_log2,
          .late = std::move(late)};
}

TEST(late_book, takes_the_least_of_all_shards_of_a_clock) {
  late_book book;
  book.tell(0, below(1, {}));
  book.tell(1, below(1, {}));
  book.tell(0, below(3, {{.clock = 1, .rank = 1, .late_ns = 50},
                         {.clock = 2, .rank = 0, .late_ns = 9}}));
  EXPECT_EQ(book.least_late_ns(1), 0U) << "the other has not told of it";
  book.tell(1, below(3, {{.clock = 1, .rank = 1, .late_ns = 30}}));
  EXPECT_EQ(book.least_late_ns(1), 30U);
  EXPECT_EQ(book.least_late_ns(0), 0U) << "it was late at one of them";
  EXPECT_EQ(book.waited_ns(0), 59U);
  EXPECT_EQ(book.waited_ns(1), 30U);
  EXPECT_EQ(book.least_late_ns(2), 0U) << "a rank that nobody has told of";
}

// Whenever shards tell, what they say of a clock is compared with what others say of it.
TEST(late_book, does_not_care_when_shards_tell) {
  late_book book;
  book.tell(0, below(10, {}));
  book.tell(1, below(8, {}));
  book.tell(0, below(20, {{.clock = 15, .rank = 0, .late_ns = 90}}));
  book.tell(1, below(14, {}));
  EXPECT_EQ(book.least_late_ns(0), 0U);
  book.tell(0, below(30, {}));
  book.tell(1, below(22, {{.clock = 15, .rank = 0, .late_ns = 80}}));
  EXPECT_EQ(book.least_late_ns(0), 80U);
}

// What was at one shard before says nothing of a delay at another now.
TEST(late_book, compares_clocks_and_not_sums) {
  late_book book;
  for (std::uint64_t clock = 0; clock < 20; ++clock) {
    const latest_arrival late{.clock = clock, .rank = 0, .late_ns = 100};
    const bool is_first = clock < 10;
    book.tell(0,
              below(clock + 1, is_first ? std::vector{late} : std::vector<latest_arrival>()));
    book.tell(1,
              below(clock + 1, is_first ? std::vector<latest_arrival>() : std::vector{late}));
  }
  EXPECT_LE(book.least_late_ns(0), 100U) << "of the first clock, when one had told alone";
}

TEST(late_book, compares_in_the_widest_span) {
  late_book book;
  book.tell(0, below(1, {}));
  book.tell(1, below(1, {}));
  book.tell(
      0,
      below(10, {{.clock = 0, .rank = 0, .late_ns = 70}, {.clock = 8, .rank = 0, .late_ns = 5}},
            3));
  book.tell(1, below(10, {{.clock = 3, .rank = 0, .late_ns = 40},
                          {.clock = 6, .rank = 0, .late_ns = 20},
                          {.clock = 9, .rank = 0, .late_ns = 4}}));
  EXPECT_EQ(book.least_late_ns(0), 60U) << "the second span has not ended";
  book.tell(0, below(16, {}));
  book.tell(1, below(16, {}));
  EXPECT_EQ(book.least_late_ns(0), 64U);
}

// Once a wide span is past, clocks count again as soon as all have told of them.
TEST(late_book, compares_in_wide_spans_no_longer_than_there_are_any) {
  late_book book;
  book.tell(0, below(1000, {{.clock = 512, .rank = 0, .late_ns = 5}}, 9));
  book.tell(1, below(1000, {{.clock = 512, .rank = 0, .late_ns = 5}}, 9));
  EXPECT_EQ(book.least_late_ns(0), 0U) << "the span to 1024 has not closed";
  for (const std::size_t shard : {0, 1})
    book.tell(shard, below(1040, {{.clock = 1030, .rank = 1, .late_ns = 7}}));
  EXPECT_EQ(book.least_late_ns(0), 5U);
  for (const std::size_t shard : {0, 1})
    book.tell(shard, below(1050, {{.clock = 1049, .rank = 1, .late_ns = 2}}));
  EXPECT_EQ(book.least_late_ns(1), 9U) << "no longer in spans of 512 clocks";
}

TEST(late_book, goes_on_without_a_shard_that_tells_nothing_any_more) {
  late_book book;
  book.tell(0, below(1, {}));
  book.tell(1, below(1, {}));
  for (std::uint64_t clock = 1; clock < 20; ++clock)
    book.tell(0, below(clock + 1, {{.clock = clock, .rank = 0, .late_ns = 5}}));
  EXPECT_GE(book.least_late_ns(0), 75U);
  const auto before = book.least_late_ns(0);
  book.tell(1, below(21, {}));
  book.tell(0, below(21, {{.clock = 20, .rank = 0, .late_ns = 5}}));
  EXPECT_EQ(book.least_late_ns(0), before) << "it takes part again";
}

TEST(late_book, passes_over_ranks_that_the_job_does_not_have) {
  late_book book;
  book.tell(0, below(5, {{.clock = 1, .rank = 4'000'000'000, .late_ns = 40}}));
  EXPECT_EQ(book.least_late_ns(4'000'000'000), 0U);
  EXPECT_EQ(book.waited_ns(0), 0U);
}

}  // namespace
}  // namespace tidegate::policies::coordination
