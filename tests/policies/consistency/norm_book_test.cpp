// The sum of the squares of all chunks of a clock, as each member of a job adds it up.
#include "policies/consistency/norm_book.hpp"

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

TEST(norm_book, keeps_clocks_apart) {
  auto book = book_of_two_tables();
  book.add_part(3, 0, 0, 1.0);
  book.add_part(3, 0, 1, 10.0);
  book.add_part(3, 1, 1, 10.0);
  EXPECT_TRUE(book.add_part(7, 0, 1, 10.0));
  EXPECT_EQ(book.sum_of(0), std::nullopt);
  EXPECT_EQ(book.sum_of(1), 30.0);
  book.add_part(3, 0, 3, 5.0);  // takes the place of clock 1, whose sum is known
  EXPECT_EQ(book.sum_of(1), std::nullopt);
  book.add_part(3, 1, 0, 1.0);
  EXPECT_TRUE(book.add_part(7, 0, 0, 1.0)) << "some chunk still waits for it";
  EXPECT_EQ(book.sum_of(0), 3.0);
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

TEST(norm_book, asks_when_a_chunk_has_told_its_part_twice_since) {
  auto book = book_of_two_tables();
  EXPECT_TRUE(book.asks(3, 1, 4));
  EXPECT_FALSE(book.asks(7, 0, 4)) << "what was asked for is on its way";
  EXPECT_TRUE(book.asks(7, 0, 4)) << "it is lost";
  EXPECT_FALSE(book.asks(3, 1, 4));
  EXPECT_TRUE(book.asks(3, 1, 4));
  EXPECT_TRUE(book.asks(7, 0, 5));
  book.add_sum(4, 1.0);
  EXPECT_FALSE(book.asks(3, 1, 4));
}

// The shard's next process may have fewer pushes.
TEST(norm_book, forgets_the_parts_of_a_shard_that_is_replaced) {
  auto book = book_of_two_tables();
  book.add_part(3, 0, 0, 1.0);
  book.add_part(3, 1, 0, 2.0);
  book.forget_parts(3, 0);
  EXPECT_FALSE(book.add_part(7, 0, 0, 4.0));
  EXPECT_TRUE(book.add_part(3, 0, 0, 0.5));
  EXPECT_EQ(book.sum_of(0), 6.5);
  book.forget_parts(3, 1);
  EXPECT_EQ(book.sum_of(0), 6.5) << "it is told already";
}

TEST(norm_book, has_room_for_so_many_clocks) {
  auto book = book_of_two_tables();
  for (std::uint64_t clock = 0; clock < 2 * norm_book::clocks_max; ++clock)
    EXPECT_FALSE(book.add_part(3, 0, clock, 1.0));
  EXPECT_FALSE(book.add_part(3, 1, 2 * norm_book::clocks_max - 1, 1.0));
  EXPECT_TRUE(book.add_part(7, 0, 2 * norm_book::clocks_max - 1, 1.0));
}

}  // namespace
}  // namespace tidegate::policies
