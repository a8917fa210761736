// A stage against hand-made sums.
#include "launch/simulate/scale/stage.hpp"

#include <gtest/gtest.h>

namespace tidegate::sim::scale {
namespace {

TEST(stage, alone_a_transfer_takes_its_work) {
  stage link;
  const auto out = link.pass({10, 10}, 4, 1);
  EXPECT_DOUBLE_EQ(out.first, 11);
  EXPECT_DOUBLE_EQ(out.last, 14);
}

TEST(stage, two_in_a_row_overlap_but_for_a_chunk) {
  stage first, second;
  const auto out = second.pass(first.pass({0, 0}, 4, 1), 4, 1);
  EXPECT_DOUBLE_EQ(out.first, 2);
  EXPECT_DOUBLE_EQ(out.last, 5) << "4 and a chunk, not 8";
}

TEST(stage, behind_a_slower_one_the_last_chunk_decides) {
  stage slow, fast;
  const auto out = fast.pass(slow.pass({0, 0}, 8, 2), 4, 1);
  EXPECT_DOUBLE_EQ(out.first, 3);
  EXPECT_DOUBLE_EQ(out.last, 9);
}

TEST(stage, who_meets_there_shares_it) {
  stage link;
  link.pass({0, 0}, 4, 1);
  link.pass({0, 0}, 4, 1);
  const auto third = link.pass({0, 0}, 4, 1);
  EXPECT_DOUBLE_EQ(third.first, 3) << "after a chunk of each";
  EXPECT_DOUBLE_EQ(third.last, 12);
  EXPECT_DOUBLE_EQ(link.busy(), 12);
}

TEST(stage, rests_where_nothing_is_to_be_done) {
  stage link;
  link.pass({0, 0}, 4, 1);
  EXPECT_DOUBLE_EQ(link.pass({100, 100}, 4, 1).last, 104);
}

TEST(stage, without_limit_costs_nothing) {
  stage link;
  const auto out = link.pass({3, 5}, 0, 0);
  EXPECT_DOUBLE_EQ(out.first, 3);
  EXPECT_DOUBLE_EQ(out.last, 5);
}

}  // namespace
}  // namespace tidegate::sim::scale
