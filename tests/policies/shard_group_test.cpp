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

TEST(shard_group, another_coordinator_waits_for_those_of_the_view) {
  auto before = together();
  before.left(0);
  before.joined(0, 2, "c");
  before.welcome();
  shard_group group(before.now());
  EXPECT_FALSE(group.is_complete());
  EXPECT_EQ(group.primary(), 1U);
  EXPECT_EQ(group.joined(0, 2, "c"), change::none);
  EXPECT_EQ(group.joined(1, 1, "b"), change::complete);
  EXPECT_EQ(group.view(), before.view());
  EXPECT_FALSE(group.replica_in_sync()) << "nobody has said that it has everything";
  EXPECT_TRUE(group.has_replica());
}

TEST(shard_group, who_died_while_nobody_watched_is_known_by_its_successor) {
  shard_group group(together().now());
  EXPECT_TRUE(group.is_awaited(0));
  EXPECT_EQ(group.left(0), change::promoted);
  EXPECT_EQ(group.joined(0, 2, "c"), change::rejoined);
  EXPECT_FALSE(group.has_candidate()) << "the other has not come back";
  EXPECT_EQ(group.joined(1, 1, "b"), change::complete);
  EXPECT_TRUE(group.has_candidate());
  EXPECT_EQ(group.primary_address(), "b");
}

TEST(shard_group, both_died_while_nobody_watched) {
  shard_group group(together().now());
  EXPECT_EQ(group.left(1), change::alone);
  EXPECT_EQ(group.joined(1, 2, "c"), change::rejoined);
  EXPECT_EQ(group.left(0), change::lost);
  EXPECT_EQ(group.joined(0, 2, "d"), change::none);
  EXPECT_FALSE(group.is_complete());
  EXPECT_FALSE(shard_group(group.now()).is_complete()) << "nor for the next one";
}

// The one that waits was no part of what was recorded: it may join the next coordinator, too.
TEST(shard_group, who_waits_to_be_the_replica_is_not_out) {
  auto before = together();
  before.left(1);
  before.joined(1, 2, "c");
  const auto recorded = before.now();
  EXPECT_LT(recorded.incarnations[1], 2U);
  shard_group group(recorded);
  EXPECT_EQ(group.joined(1, 2, "c"), change::rejoined);
  EXPECT_EQ(group.joined(0, 1, "a"), change::complete);
  EXPECT_TRUE(group.has_candidate());
}

}  // namespace
}  // namespace tidegate::policies
