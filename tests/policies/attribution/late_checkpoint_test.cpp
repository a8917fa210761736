#include "policies/attribution/late_checkpoint.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

using writer = late_checkpoint::writer;

// Ten seconds, in which this checkpoint became durable.
std::vector<job_period> with(const checkpoint_account& checkpoint) {
  std::vector<job_period> periods(10, {.seconds = 1});
  periods[4].checkpoints.push_back(checkpoint);
  return periods;
}

TEST(late_checkpoint, of_a_shard_that_writes_longer_than_the_others) {
  const auto found = late_checkpoint_in(with({.clock = 40,
                                              .seconds = 4,
                                              .late = 2,
                                              .shard = 1,
                                              .part = 3,
                                              .others = 0.1,
                                              .part_bytes = 7,
                                              .others_bytes = 7}));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->slow, writer::shard);
  EXPECT_EQ(found->worst.shard, 1U);
  EXPECT_EQ(found->worst.clock, 40U);
  EXPECT_EQ(found->late_seconds, 2);
}

TEST(late_checkpoint, of_all_shards_and_of_one_alone) {
  EXPECT_EQ(late_checkpoint_in(with({.seconds = 4, .late = 2, .part = 3, .others = 2.5}))->slow,
            writer::all_shards);
  EXPECT_EQ(late_checkpoint_in(with({.seconds = 4, .late = 2, .part = 3}))->slow,
            writer::shard);
}

TEST(late_checkpoint, a_shard_that_has_more_to_write_is_not_slower) {
  auto more = checkpoint_account{.seconds = 4,
                                 .late = 2,
                                 .part = 3,
                                 .others = 0.1,
                                 .part_bytes = 3000,
                                 .others_bytes = 100};
  EXPECT_EQ(late_checkpoint_in(with(more))->slow, writer::all_shards);
  more.part_bytes = 1000;
  EXPECT_EQ(late_checkpoint_in(with(more))->slow, writer::shard);
}

TEST(late_checkpoint, of_a_manifest) {
  EXPECT_EQ(
      late_checkpoint_in(with({.seconds = 4, .late = 2, .part = 0.1, .manifest = 3}))->slow,
      writer::coordinator);
}

TEST(late_checkpoint, is_not_named_for_its_clock_nor_for_a_moment) {
  EXPECT_FALSE(late_checkpoint_in(with({.seconds = 4, .late = 2, .part = 1, .manifest = 1})))
      << "it waited for its clock";
  EXPECT_FALSE(late_checkpoint_in(with({.seconds = 4, .late = 0.4, .part = 3})))
      << "less than a twentieth of the time";
  EXPECT_FALSE(late_checkpoint_in(with({.seconds = 4, .part = 3}))) << "nothing was due";
  EXPECT_FALSE(late_checkpoint_in({}));
}

TEST(late_checkpoint, names_the_worst_of_several) {
  auto periods = with({.clock = 10, .seconds = 4, .late = 1, .shard = 0, .part = 3});
  periods[8].checkpoints.push_back(
      {.clock = 20, .seconds = 5, .late = 2, .shard = 1, .part = 4});
  const auto found = late_checkpoint_in(periods);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->worst.clock, 20U);
  EXPECT_EQ(found->late_seconds, 3);
}

}  // namespace
}  // namespace tidegate::policies
