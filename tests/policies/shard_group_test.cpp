#include "policies/shard_group.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

using change = shard_group::change;

shard_group together() {
  shard_group group(1);
  EXPECT_EQ(group.joined(1, 1, "b"), change::none);
  EXPECT_FALSE(group.is_complete());
  EXPECT_EQ(group.joined(0, 1, "a"), change::complete);
  return group;
}

TEST(shard_group, begins_with_number_0_as_the_primary_and_the_other_in_sync) {
  const auto group = together();
  EXPECT_EQ(group.primary(), 0U);
  EXPECT_TRUE(group.replica_in_sync());
  EXPECT_EQ(group.view(), 0U);
}

TEST(shard_group, a_replica_in_sync_takes_the_place_of_its_primary) {
  auto group = together();
  EXPECT_EQ(group.left(0), change::promoted);
  EXPECT_EQ(group.primary_address(), "b");
  EXPECT_EQ(group.serving_view(), 1U);
  EXPECT_FALSE(group.has_replica());
}

TEST(shard_group, without_its_replica_it_goes_on_and_serves_as_before) {
  auto group = together();
  EXPECT_EQ(group.left(1), change::alone);
  EXPECT_EQ(group.view(), 1U);
  EXPECT_EQ(group.serving_view(), 0U) << "workers hear of nothing";
}

TEST(shard_group, one_that_is_not_in_sync_is_not_promoted) {
  auto group = together();
  group.left(1);
  EXPECT_EQ(group.joined(1, 2, "c"), change::rejoined);
  group.welcome();
  EXPECT_EQ(group.left(0), change::lost);
  EXPECT_TRUE(group.is_lost());
  EXPECT_EQ(group.joined(0, 2, "d"), change::none);
}

TEST(shard_group, only_the_word_of_this_view_makes_it_in_sync) {
  auto group = together();
  group.left(1);
  group.joined(1, 2, "c");
  group.welcome();
  EXPECT_EQ(group.view(), 2U);
  EXPECT_FALSE(group.in_sync(1));
  EXPECT_FALSE(group.replica_in_sync());
  EXPECT_TRUE(group.in_sync(2));
  EXPECT_EQ(group.left(0), change::promoted);
  EXPECT_EQ(group.primary_address(), "c");
}

TEST(shard_group, both_take_turns) {
  auto group = together();
  for (std::uint32_t life = 2; life < 10; ++life) {
    const auto dies = group.primary();
    EXPECT_EQ(group.left(dies), change::promoted);
    EXPECT_EQ(group.joined(dies, life, "again"), change::rejoined);
    group.welcome();
    EXPECT_TRUE(group.in_sync(group.view()));
    EXPECT_EQ(group.incarnation(dies), life);
  }
}

TEST(shard_group, before_all_are_there_a_death_changes_nothing) {
  shard_group group(1);
  group.joined(0, 1, "a");
  EXPECT_EQ(group.left(0), change::none);
  EXPECT_EQ(group.left(0), change::none) << "told twice";
  EXPECT_EQ(group.joined(0, 2, "b"), change::none);
  EXPECT_EQ(group.joined(1, 1, "c"), change::complete);
}

}  // namespace
}  // namespace tidegate::policies
