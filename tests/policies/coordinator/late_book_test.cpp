#include "policies/coordinator/late_book.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tidegate::policies::coordination {
namespace {

constexpr auto all = [](std::size_t) { return true; };

std::vector<rank_arrivals> late(std::uint64_t rank_0, std::uint64_t rank_1) {
  return {{.clocks = 1, .last = 1, .late_ns = rank_0},
          {.clocks = 1, .last = 1, .late_ns = rank_1}};
}

TEST(late_book, takes_the_least_of_all_shards_in_a_round) {
  late_book book;
  book.tell(0, late(0, 50), all);
  EXPECT_EQ(book.least_late_ns(1), 50U) << "no other has told yet";
  book.tell(1, late(7, 30), all);
  EXPECT_EQ(book.least_late_ns(1), 50U);
  book.tell(0, late(9, 40), all);
  EXPECT_EQ(book.least_late_ns(0), 7U);
  EXPECT_EQ(book.least_late_ns(1), 80U);
  EXPECT_EQ(book.waited_ns(0), 99U);
  EXPECT_EQ(book.waited_ns(1), 37U);
  EXPECT_EQ(book.least_late_ns(2), 0U) << "a rank that nobody has told of";
}

// What was at one shard before says nothing of a delay at another now.
TEST(late_book, compares_rounds_and_not_sums) {
  late_book book;
  book.tell(0, late(0, 0), all);
  book.tell(1, late(0, 0), all);
  for (int i = 0; i < 10; ++i) {
    book.tell(0, late(100, 0), all);
    book.tell(1, late(0, 0), all);
  }
  for (int i = 0; i < 10; ++i) {
    book.tell(0, late(0, 0), all);
    book.tell(1, late(100, 0), all);
  }
  EXPECT_LE(book.least_late_ns(0), 100U) << "once, where one ends and the other begins";
}

TEST(late_book, waits_a_round_for_another_to_tell_of_the_same_clock) {
  late_book book;
  book.tell(0, late(0, 0), all);
  book.tell(1, late(0, 0), all);
  book.tell(0, late(90, 0), all);
  book.tell(1, late(0, 0), all);
  EXPECT_EQ(book.least_late_ns(0), 0U);
  book.tell(1, late(80, 0), all);
  book.tell(0, late(0, 0), all);
  EXPECT_EQ(book.least_late_ns(0), 80U);
  book.tell(1, late(80, 0), all);
  book.tell(0, late(0, 0), all);
  EXPECT_EQ(book.least_late_ns(0), 80U) << "what has waited for a round is forgotten";
}

TEST(late_book, goes_on_without_a_shard_that_tells_nothing_any_more) {
  late_book book;
  book.tell(0, late(0, 0), all);
  book.tell(1, late(0, 0), all);
  for (int i = 0; i < 20; ++i) book.tell(0, late(5, 0), all);
  EXPECT_GE(book.least_late_ns(0), 60U);
  const auto before = book.least_late_ns(0);
  book.tell(1, late(0, 0), all);
  book.tell(0, late(5, 0), all);
  book.tell(1, late(0, 0), all);
  EXPECT_LE(book.least_late_ns(0), before + 10) << "it takes part again";
}

TEST(late_book, passes_over_ranks_that_a_teller_does_not_compare) {
  late_book book;
  book.tell(0, late(30, 40), [](std::size_t rank) { return rank == 1; });
  EXPECT_EQ(book.least_late_ns(0), 0U);
  EXPECT_EQ(book.least_late_ns(1), 40U);
  EXPECT_EQ(book.waited_ns(0), 40U);
}

}  // namespace
}  // namespace tidegate::policies::coordination
