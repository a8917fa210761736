#include "policies/worker/answer_book.hpp"

#include <gtest/gtest.h>

#include "tests/support/allocations.hpp"

namespace tidegate::policies {
namespace {

TEST(answer_book, names_the_shard_that_answered_last) {
  answer_book book(3);
  EXPECT_FALSE(book.came(0, 0, 100));
  EXPECT_FALSE(book.came(1, 0, 900));
  EXPECT_FALSE(book.came(2, 0, 250));
  EXPECT_EQ(book.sums()[1], rank_arrivals()) << "another chunk of it may come";
  EXPECT_TRUE(book.came(0, 1, 1000));
  EXPECT_EQ(book.sums()[0], (rank_arrivals{.clocks = 1}));
  EXPECT_EQ(book.sums()[1], (rank_arrivals{.clocks = 1, .last = 1, .late_ns = 650}));
  EXPECT_EQ(book.sums()[2], (rank_arrivals{.clocks = 1}));
}

TEST(answer_book, counts_the_last_answer_of_a_shard) {
  answer_book book(2);
  book.came(0, 0, 100);
  book.came(1, 0, 200);
  book.came(0, 0, 500);
  EXPECT_TRUE(book.came(0, 1, 600));
  EXPECT_EQ(book.sums()[0].late_ns, 300U);
}

TEST(answer_book, of_two_that_answer_at_once_nobody_is_last) {
  answer_book book(2);
  for (std::uint64_t clock = 0; clock < 3; ++clock)
    for (std::uint32_t shard = 0; shard < 2; ++shard) book.came(shard, clock, 0);
  for (const auto& sum : book.sums()) EXPECT_EQ(sum, (rank_arrivals{.clocks = 2}));
}

TEST(answer_book, a_clock_in_which_one_shard_answers_says_nothing) {
  answer_book book(2);
  book.came(0, 0, 100);
  EXPECT_TRUE(book.came(0, 1, 900));
  EXPECT_EQ(book.sums()[0], (rank_arrivals{.clocks = 1}));
  EXPECT_EQ(book.sums()[1], rank_arrivals());
}

TEST(answer_book, is_not_kept_of_one_shard) {
  EXPECT_FALSE(answer_book(1).is_kept());
  EXPECT_TRUE(answer_book(2).is_kept());
}

TEST(answer_book, allocates_nothing_once_it_is_there) {
  answer_book book(4);
  const auto before = tests::allocations();
  for (std::uint64_t clock = 0; clock < 100; ++clock)
    for (std::uint32_t shard = 0; shard < 4; ++shard)
      book.came(shard, clock, static_cast<std::int64_t>(10 * clock + shard));
  EXPECT_EQ(tests::allocations(), before);
  EXPECT_EQ(book.sums()[3].last, 99U);
}

}  // namespace
}  // namespace tidegate::policies
