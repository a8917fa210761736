#include "policies/placement/replica_chain.hpp"

#include <utility>

#include <gtest/gtest.h>

#include "policies/protocol/frame_epoch.hpp"

namespace tidegate::policies {
namespace {

using change = replica_chain::change;

// Numbers 0, 1, ... of so many, all in sync.
replica_chain together(std::uint32_t processes = 2) {
  replica_chain group(processes - 1);
  for (std::uint32_t number = processes; number-- > 1;) {
    EXPECT_EQ(group.joined(number, 1, std::string(1, static_cast<char>('a' + number))),
              change::none);
    EXPECT_FALSE(group.is_complete());
  }
  EXPECT_EQ(group.joined(0, 1, "a"), change::complete);
  return group;
}

std::vector<std::uint32_t> order(const replica_chain& group) {
  std::vector<std::uint32_t> members;
  for (const auto& entry : group.chain()) members.push_back(entry.member);
  return members;
}

std::uint32_t view_of_last_pair(const replica_chain& group) {
  return group.chain()[group.chain().size() - 2].view;
}

using members = std::vector<std::uint32_t>;

TEST(replica_chain, begins_in_the_order_of_numbers_with_all_in_sync) {
  const auto group = together(3);
  EXPECT_EQ(order(group), (members{0, 1, 2}));
  EXPECT_EQ(group.primary(), 0U);
  EXPECT_EQ(group.replicas_in_sync(), 2U);
  EXPECT_TRUE(group.is_pair(0));
}

TEST(replica_chain, a_replica_in_sync_takes_the_place_of_its_primary) {
  auto group = together();
  EXPECT_EQ(group.left(0).kind, change::promoted);
  EXPECT_EQ(group.primary_address(), "b");
  EXPECT_EQ(group.serving_view(), 1U);
  EXPECT_EQ(group.chain().size(), 1U);
  EXPECT_EQ(group.replicas_in_sync(), 0U);
}

// Two views for each death: 12 bits were spent after 2,048.
TEST(replica_chain, workers_frames_stay_in_order_over_any_number_of_fail_overs) {
  auto group = together();
  std::uint32_t incarnation = 1;
  auto last = frame_epoch(1, group.serving_view());
  while (group.serving_view() < 70'000) {
    const auto dead = group.primary();
    ASSERT_EQ(group.left(dead).kind, change::promoted);
    const auto epoch = frame_epoch(1, group.serving_view());
    ASSERT_GT(epoch, last) << "view " << group.serving_view();
    ASSERT_LT(epoch, frame_epoch(2, 0)) << "view " << group.serving_view();
    ASSERT_EQ(run_of(epoch), 1U) << "view " << group.serving_view();
    last = epoch;
    ASSERT_EQ(group.joined(dead, ++incarnation, "c"), change::rejoined);
    group.welcome();
    ASSERT_TRUE(group.in_sync(group.view()));
  }
}

TEST(replica_chain, frames_of_a_later_run_are_later_than_any_view_of_the_one_before) {
  constexpr std::uint32_t last_run = 0xffff'ffff;
  for (const std::uint32_t run : {1U, 2U, 4095U, 1'048'576U, last_run - 1}) {
    EXPECT_LT(frame_epoch(run, views_max), frame_epoch(run + 1, 0));
    EXPECT_EQ(run_of(frame_epoch(run, views_max)), run);
    EXPECT_EQ(run_of(frame_epoch(run + 1, 0)), run + 1);
  }
  for (const std::uint32_t view : {0U, 2047U, 4095U, 4096U, 65'535U, 65'536U, views_max - 1})
    EXPECT_LT(frame_epoch(1, view), frame_epoch(1, view + 1));
}

TEST(replica_chain, without_its_replica_it_goes_on_and_serves_as_before) {
  auto group = together();
  const auto [step, before] = group.left(1);
  EXPECT_EQ(step, change::cut);
  EXPECT_EQ(before, 0U);
  EXPECT_EQ(group.chain()[0].view, 1U);
  EXPECT_FALSE(group.is_pair(1)) << "it leads nobody since then";
  EXPECT_EQ(group.serving_view(), 0U) << "workers hear of nothing";
}

TEST(replica_chain, one_that_is_not_in_sync_is_not_promoted) {
  auto group = together();
  group.left(1);
  EXPECT_EQ(group.joined(1, 2, "c"), change::rejoined);
  group.welcome();
  EXPECT_EQ(group.left(0).kind, change::lost);
  EXPECT_TRUE(group.is_lost());
  EXPECT_EQ(group.joined(0, 2, "d"), change::none);
}

TEST(replica_chain, only_the_word_of_this_view_makes_it_in_sync) {
  auto group = together();
  group.left(1);
  group.joined(1, 2, "c");
  group.welcome();
  EXPECT_EQ(view_of_last_pair(group), 2U);
  EXPECT_FALSE(group.in_sync(1));
  EXPECT_EQ(group.replicas_in_sync(), 0U);
  EXPECT_TRUE(group.in_sync(2));
  EXPECT_EQ(group.left(0).kind, change::promoted);
  EXPECT_EQ(group.primary_address(), "c");
}

TEST(replica_chain, all_take_turns) {
  for (const std::uint32_t processes : {2U, 3U}) {
    auto group = together(processes);
    for (std::uint32_t incarnation = 2; incarnation < 10; ++incarnation) {
      const auto dies = group.primary();
      EXPECT_EQ(group.left(dies).kind, change::promoted);
      EXPECT_EQ(group.joined(dies, incarnation / processes + 2, "again"), change::rejoined);
      group.welcome();
      EXPECT_TRUE(group.in_sync(view_of_last_pair(group)));
      EXPECT_EQ(group.chain().size(), processes);
    }
  }
}

TEST(replica_chain, before_all_are_there_a_death_changes_nothing) {
  replica_chain group(1);
  group.joined(0, 1, "a");
  EXPECT_EQ(group.left(0).kind, change::none);
  EXPECT_EQ(group.left(0).kind, change::none) << "told twice";
  EXPECT_EQ(group.joined(0, 2, "b"), change::none);
  EXPECT_EQ(group.joined(1, 1, "c"), change::complete);
}

// A death concerns the neighbours: pairs that the dead one was not in are as they were.
TEST(replica_chain, the_second_of_three_dies_and_the_first_leads_the_third) {
  auto group = together(3);
  const auto [step, before] = group.left(1);
  EXPECT_EQ(step, change::relinked);
  EXPECT_EQ(before, 0U);
  EXPECT_EQ(order(group), (members{0, 2}));
  EXPECT_TRUE(group.is_pair(1));
  EXPECT_EQ(group.replicas_in_sync(), 1U);
  EXPECT_EQ(group.left(0).kind, change::promoted);
  EXPECT_EQ(group.primary_address(), "c");
}

TEST(replica_chain, the_first_of_three_dies_and_the_others_are_a_pair_as_before) {
  auto group = together(3);
  EXPECT_EQ(group.left(0).kind, change::promoted);
  EXPECT_EQ(order(group), (members{1, 2}));
  EXPECT_TRUE(group.is_pair(0));
  EXPECT_EQ(group.serving_view(), 1U);
}

TEST(replica_chain, two_of_three_may_die_at_once) {
  for (const std::uint32_t stays : {0U, 1U, 2U})
    for (const bool ascending : {true, false}) {
      auto group = together(3);
      for (std::uint32_t i = 0; i < 3; ++i)
        if (const auto dies = ascending ? i : 2 - i; dies != stays) group.left(dies);
      EXPECT_TRUE(group.is_complete());
      EXPECT_EQ(order(group), (members{stays}));
    }
}

// One is given everything at a time, by the last that has it.
TEST(replica_chain, who_waits_comes_behind_the_one_that_is_given_everything) {
  auto group = together(3);
  group.left(0);
  group.left(1);
  group.joined(1, 2, "d");
  ASSERT_EQ(group.candidate(), 1U);
  group.welcome();
  EXPECT_EQ(group.joined(0, 2, "e"), change::rejoined);
  EXPECT_FALSE(group.candidate());
  EXPECT_TRUE(group.in_sync(view_of_last_pair(group)));
  ASSERT_EQ(group.candidate(), 0U);
  group.welcome();
  EXPECT_EQ(order(group), (members{2, 1, 0}));
  EXPECT_EQ(group.replicas_in_sync(), 1U);
}

TEST(replica_chain, one_dies_that_was_giving_everything_to_the_last) {
  auto group = together(3);
  group.left(2);
  group.joined(2, 2, "d");
  group.welcome();
  const auto [step, before] = group.left(1);
  EXPECT_EQ(step, change::relinked);
  EXPECT_EQ(before, 0U);
  EXPECT_EQ(order(group), (members{0, 2}));
  EXPECT_FALSE(group.tail_in_sync()) << "it has some of everything";
  EXPECT_EQ(group.left(0).kind, change::lost);
}

TEST(replica_chain, the_last_dies_while_it_is_given_everything_and_another_waits) {
  auto group = together(3);
  group.left(2);
  group.left(1);
  group.joined(2, 2, "d");
  group.welcome();
  group.joined(1, 2, "e");
  EXPECT_EQ(group.left(2).kind, change::cut);
  EXPECT_EQ(group.candidate(), 1U);
}

TEST(replica_chain, another_coordinator_waits_for_those_of_the_chain) {
  auto before = together();
  before.left(0);
  before.joined(0, 2, "c");
  before.welcome();
  replica_chain group(before.now());
  EXPECT_FALSE(group.is_complete());
  EXPECT_EQ(group.primary(), 1U);
  EXPECT_EQ(group.joined(0, 2, "c"), change::none);
  EXPECT_EQ(group.joined(1, 1, "b"), change::complete);
  EXPECT_EQ(view_of_last_pair(group), view_of_last_pair(before));
  EXPECT_FALSE(group.tail_in_sync()) << "nobody has said that it has everything";
}

TEST(replica_chain, who_died_while_nobody_watched_is_known_by_its_successor) {
  replica_chain group(together().now());
  EXPECT_TRUE(group.is_awaited(0));
  EXPECT_EQ(group.left(0).kind, change::promoted);
  EXPECT_EQ(group.joined(0, 2, "c"), change::rejoined);
  EXPECT_FALSE(group.candidate()) << "the other has not come back";
  EXPECT_EQ(group.joined(1, 1, "b"), change::complete);
  EXPECT_EQ(group.candidate(), 0U);
  EXPECT_EQ(group.primary_address(), "b");
}

TEST(replica_chain, both_died_while_nobody_watched) {
  replica_chain group(together().now());
  EXPECT_EQ(group.left(1).kind, change::cut);
  EXPECT_EQ(group.joined(1, 2, "c"), change::rejoined);
  EXPECT_EQ(group.left(0).kind, change::lost);
  EXPECT_EQ(group.joined(0, 2, "d"), change::none);
  EXPECT_FALSE(group.is_complete());
  EXPECT_TRUE(replica_chain(group.now()).is_lost()) << "for the next one, too";
}

// The one that waits was no part of what was recorded: it may join the next coordinator, too.
TEST(replica_chain, who_waits_to_be_the_replica_is_not_out) {
  auto before = together();
  before.left(1);
  before.joined(1, 2, "c");
  const auto recorded = before.now();
  EXPECT_LT(recorded.incarnations[1], 2U);
  replica_chain group(recorded);
  EXPECT_EQ(group.joined(1, 2, "c"), change::rejoined);
  EXPECT_EQ(group.joined(0, 1, "a"), change::complete);
  EXPECT_EQ(group.candidate(), 1U);
}

TEST(replica_chain, replicas_are_counted_through_over_all_shards) {
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    for (const std::uint32_t number : {1U, 2U}) {
      const auto index = replica_index(3, shard, number);
      EXPECT_EQ(index, shard + 3 * (number - 1));
      EXPECT_EQ(shard_of_replica(3, index), shard);
      EXPECT_EQ(number_of_replica(3, index), number);
    }
}

// Two slots have one process each: number 0 begins, and number 1 is wanted in its place.
replica_chain moving() {
  replica_chain group(2, {0, 1});
  EXPECT_EQ(group.joined(0, 1, "a"), change::complete);
  group.want({1, 1});
  EXPECT_TRUE(group.leavers().empty()) << "nobody else has anything";
  EXPECT_EQ(group.joined(1, 1, "b"), change::rejoined);
  EXPECT_TRUE(group.leavers().empty());
  group.welcome();
  EXPECT_TRUE(group.leavers().empty()) << "it has not everything";
  EXPECT_TRUE(group.in_sync(view_of_last_pair(group)));
  return group;
}

TEST(replica_chain, one_that_is_not_wanted_leaves_when_others_have_everything) {
  auto group = moving();
  ASSERT_EQ(group.leavers(), members{0});
  group.let_leave(0);
  EXPECT_TRUE(group.leavers().empty()) << "it has been told";
  EXPECT_EQ(group.left(0).kind, change::promoted);
  EXPECT_EQ(group.primary_address(), "b");
  EXPECT_TRUE(group.leavers().empty());
}

// Both would end.
TEST(replica_chain, while_one_leaves_no_other_does_whoever_is_wanted) {
  auto group = moving();
  group.let_leave(0);
  group.want({0, 1});
  EXPECT_TRUE(group.leavers().empty());
  replica_chain next(group.now());
  next.want({0, 1});
  next.joined(0, 1, "a");
  next.joined(1, 1, "b");
  EXPECT_TRUE(next.is_leaving(0)) << "known to the next coordinator, too";
  EXPECT_TRUE(next.leavers().empty());
  EXPECT_EQ(next.left(0).kind, change::promoted);
  EXPECT_EQ(next.joined(0, 2, "c"), change::rejoined);
  EXPECT_FALSE(next.is_leaving(0)) << "another life";
  EXPECT_EQ(next.candidate(), 0U);
}

TEST(replica_chain, one_that_is_not_wanted_any_more_is_not_welcomed) {
  replica_chain group(2, {0, 1});
  group.joined(0, 1, "a");
  group.joined(1, 1, "b");
  EXPECT_FALSE(group.candidate().has_value());
  EXPECT_EQ(group.leavers(), members{1});
  group.let_leave(1);
  group.want({1, 1});
  EXPECT_FALSE(group.candidate().has_value()) << "it ends";
  EXPECT_EQ(group.left(1).kind, change::none);
}

TEST(replica_chain, a_tail_that_is_not_wanted_any_more_goes_before_it_has_everything) {
  replica_chain group(2, {0, 1});
  group.joined(0, 1, "a");
  group.want({1, 1});
  group.joined(1, 1, "b");
  group.welcome();
  group.want({0, 1});
  EXPECT_EQ(group.leavers(), members{1});
}

// Two slots of two: 0 and 1 are there, 2 and 3 are wanted.
TEST(replica_chain, the_primary_leaves_last) {
  replica_chain group(4, {0, 2});
  group.joined(0, 1, "a");
  group.joined(1, 1, "b");
  group.want({2, 2});
  for (const std::uint32_t number : {2U, 3U}) {
    group.joined(number, 1, std::string(1, static_cast<char>('a' + number)));
    EXPECT_TRUE(group.leavers().empty());
    group.welcome();
    group.in_sync(view_of_last_pair(group));
  }
  EXPECT_EQ(group.leavers(), members{1});
  group.let_leave(1);
  EXPECT_EQ(group.left(1).kind, change::relinked);
  EXPECT_EQ(group.leavers(), members{0});
  group.let_leave(0);
  EXPECT_EQ(group.left(0).kind, change::promoted);
  EXPECT_EQ(order(group), (members{2, 3}));
}

}  // namespace
}  // namespace tidegate::policies
