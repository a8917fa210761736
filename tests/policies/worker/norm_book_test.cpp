// The sum of the squares of all chunks of a clock, as each member of a job adds it up.
#include "policies/worker/norm_book.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

norm_book book_of_two_tables() {
  norm_book book;
  book.add_table(3, 2);
  book.add_table(7, 1);
  book.begin();
  return book;
}

TEST(norm_book, knows_the_sum_when_every_chunk_has_told_its_part) {
  auto book = book_of_two_tables();
  EXPECT_FALSE(book.add_part(3, 0, 0, 1.0));
  EXPECT_FALSE(book.add_part(7, 0, 0, 4.0));
  EXPECT_EQ(book.sum_of(0), std::nullopt);
  EXPECT_TRUE(book.add_part(3, 1, 0, 2.0));
  EXPECT_EQ(book.sum_of(0), 7.0);
  EXPECT_FALSE(book.add_part(3, 1, 0, 2.0)) << "it is known";
}

TEST(norm_book, counts_a_part_that_comes_twice_once) {
  auto book = book_of_two_tables();
  EXPECT_FALSE(book.add_part(3, 0, 0, 1.0));
  EXPECT_FALSE(book.add_part(3, 0, 0, 1.0));
  EXPECT_FALSE(book.add_part(3, 1, 0, 1.0));
  EXPECT_TRUE(book.add_part(7, 0, 0, 1.0));
  EXPECT_EQ(book.sum_of(0), 3.0);
}

// In float64, 1 is lost beside 2^53, and 2 is not.
TEST(norm_book, adds_in_one_order_whichever_part_comes_last) {
  constexpr double large = 9007199254740992.0;
  for (const bool is_reversed : {false, true}) {
    norm_book book;
    book.add_table(1, 3);
    book.begin();
    const double parts[] = {1.0, 1.0, large};
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto chunk = is_reversed ? 2 - i : i;
      book.add_part(1, chunk, 0, parts[chunk]);
    }
    EXPECT_EQ(book.sum_of(0), large + 2);
  }
}

TEST(norm_book, keeps_two_clocks_apart) {
  auto book = book_of_two_tables();
  book.add_part(3, 0, 0, 1.0);
  book.add_part(3, 0, 1, 10.0);
  book.add_part(3, 1, 1, 10.0);
  EXPECT_TRUE(book.add_part(7, 0, 1, 10.0));
  EXPECT_EQ(book.sum_of(0), std::nullopt);
  EXPECT_EQ(book.sum_of(1), 30.0);
  book.add_part(3, 0, 2, 5.0);  // takes the place of clock 0
  EXPECT_FALSE(book.add_part(3, 1, 0, 1.0)) << "of the past";
  book.add_part(3, 1, 2, 5.0);
  EXPECT_TRUE(book.add_part(7, 0, 2, 5.0));
  EXPECT_EQ(book.sum_of(2), 15.0);
}

TEST(norm_book, takes_the_sum_from_a_shard_that_has_made_the_step) {
  auto book = book_of_two_tables();
  book.add_part(3, 0, 4, 1.0);
  EXPECT_TRUE(book.add_sum(4, 7.0));
  EXPECT_FALSE(book.add_sum(4, 8.0)) << "the first one stays";
  EXPECT_FALSE(book.add_part(3, 1, 4, 2.0));
  EXPECT_EQ(book.sum_of(4), 7.0);
}

// One that has only opened the first of them would take its part for all.
TEST(norm_book, adds_up_when_it_has_all_tables) {
  norm_book book;
  book.add_table(3, 1);
  EXPECT_FALSE(book.add_part(3, 0, 4, 1.0));
  EXPECT_FALSE(book.add_part(7, 0, 4, 9.0)) << "of a table that is not here yet";
  book.add_table(7, 1);
  EXPECT_FALSE(book.add_part(7, 0, 4, 2.0));
  EXPECT_EQ(book.sum_of(4), std::nullopt);
  EXPECT_TRUE(book.begin());
  EXPECT_EQ(book.sum_of(4), 3.0);
  EXPECT_FALSE(book.begin());
  EXPECT_FALSE(book.add_part(3, 6, 5, 2.0)) << "a chunk that there is not";
}

TEST(norm_book, asks_once_a_round) {
  auto book = book_of_two_tables();
  EXPECT_TRUE(book.asks(3, 1, 4));
  EXPECT_FALSE(book.asks(7, 0, 4));
  EXPECT_TRUE(book.asks(3, 1, 4)) << "what was asked for may be lost";
  EXPECT_TRUE(book.asks(7, 0, 5));
  book.add_sum(4, 1.0);
  EXPECT_FALSE(book.asks(3, 1, 4));
}

}  // namespace
}  // namespace tidegate::policies
