#include "policies/checkpoint/round_clock.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

TEST(round_clock, tells_of_the_shard_that_wrote_for_longest) {
  round_clock times;
  times.begins(100, false);
  times.part(2, 30, 5);
  times.part(0, 70, 8);
  times.part(1, 40, 6);
  times.manifest_begins(190);
  times.ended(200, 12);
  EXPECT_EQ(times.times(), (checkpoint_times{.count = 1,
                                             .late_ns = 0,
                                             .clock = 12,
                                             .round_ns = 100,
                                             .shard = 0,
                                             .part_ns = 70,
                                             .part_bytes = 8,
                                             .others_ns = 40,
                                             .others_bytes = 6,
                                             .manifest_ns = 10}));
}

TEST(round_clock, sums_by_how_much_checkpoints_were_late) {
  round_clock times;
  times.begins(100, false);
  times.turns_late(150);
  times.turns_late(170);
  times.ended(200, 1);
  EXPECT_EQ(times.times().late_ns, 50U);
  times.begins(300, false);
  times.ended(400, 2);
  EXPECT_EQ(times.times().late_ns, 50U) << "the second was in time";
  times.begins(500, false);
  times.turns_late(590);
  times.begins(600, false);  // it was given up
  times.turns_late(650);
  times.ended(660, 3);
  EXPECT_EQ(times.times().late_ns, 70U) << "what was given up was late, too";
  EXPECT_EQ(times.times().count, 3U);
}

TEST(round_clock, a_final_round_is_late_from_its_first_begin_on) {
  round_clock times;
  times.begins(100, true);
  times.part(0, 5, 1);
  times.begins(130, true);  // tried again, as a shard still wrote
  times.part(1, 20, 1);
  times.ended(160, 9);
  EXPECT_EQ(times.times().late_ns, 60U);
  EXPECT_EQ(times.times().round_ns, 60U);
  EXPECT_EQ(times.times().shard, 1U);
}

}  // namespace
}  // namespace tidegate::policies
