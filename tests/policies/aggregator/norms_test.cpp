// What an aggregator says of the norm of the whole gradient.
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/policies/aggregator/fixture.hpp"

namespace tidegate::policies {
namespace {

using kind = upstream_frame::type;
using runtime::frame_header;
using runtime::frame_kind;

// An aggregator of two chunks on two shards, whose members have pushed a clock or not.
class aggregator_norms : public testing::Test {
 protected:
  void push() {
    for (const std::uint32_t rank : {2U, 3U, 4U}) group.push(rank, 0, rank * 10);
  }
  static frame_header header(frame_kind of, std::uint32_t shard, double squares) {
    frame_header frame;
    frame.kind = of;
    frame.job = relay::job;
    frame.epoch = relay::epoch;
    frame.shard = static_cast<std::uint16_t>(shard);
    frame.worker = 2;
    frame.table = relay::table;
    frame.chunk = shard;  // a chunk each
    frame.squares = squares;
    return frame;
  }
  std::vector<upstream_frame> on(const frame_header& frame) {
    std::vector<upstream_frame> said;
    group.core.on_norm(frame, said);
    return said;
  }
  std::vector<upstream_frame> part(std::uint32_t shard, double squares, bool again = false) {
    auto frame = header(frame_kind::norm_part, shard, squares);
    if (again) frame.flags = runtime::frame_flag_again;
    return on(frame);
  }
  static void expect_sum(const std::vector<upstream_frame>& said, double squares) {
    ASSERT_EQ(said.size(), 2U) << "to every shard";
    for (std::uint32_t shard = 0; shard < 2; ++shard) {
      const auto frame = header_of(said[shard]);
      EXPECT_EQ(said[shard].shard, shard);
      EXPECT_EQ(frame.kind, frame_kind::norm);
      EXPECT_EQ(frame.squares, squares);
      EXPECT_EQ(frame.worker, 2U) << "as its first node";
    }
  }

  relay group{{consistency_kind::bsp, 0}};
};

TEST_F(aggregator_norms, tells_every_shard_the_sum_when_every_chunk_has_told_its_part) {
  push();
  EXPECT_TRUE(part(1, 2.0).empty());
  expect_sum(part(0, 1.0), 3.0);
  const auto again = part(1, 2.0, true);
  ASSERT_EQ(again.size(), 1U) << "that shard may not have heard it";
  EXPECT_EQ(again[0].shard, 1U);
  EXPECT_EQ(again[0].squares, 3.0);
}

TEST_F(aggregator_norms, adds_up_when_its_members_have_all_tables) {
  EXPECT_TRUE(part(0, 1.0).empty());
  EXPECT_TRUE(part(1, 2.0).empty()) << "members may open more";
  for (const std::uint32_t rank : {2U, 3U}) group.push(rank, 0, rank * 10);
  group.push(4, 0, 40);
  ASSERT_GE(group.frames.size(), 2U);
  group.frames.resize(2);
  expect_sum(group.frames, 3.0);
}

TEST_F(aggregator_norms, takes_the_sum_of_a_shard_that_has_made_the_step) {
  push();
  EXPECT_TRUE(part(0, 1.0).empty());
  expect_sum(on(header(frame_kind::norm, 1, 5.0)), 5.0);
  EXPECT_TRUE(on(header(frame_kind::norm, 1, 5.0)).empty()) << "told twice";
}

// What the sums of the one before it have led to is not pushed again.
TEST_F(aggregator_norms, asks_what_shards_know_when_a_chunk_tells_its_part_again) {
  push();
  const auto said = part(0, 1.0, true);
  ASSERT_EQ(said.size(), 2U);
  for (const auto& frame : said) EXPECT_EQ(header_of(frame).kind, frame_kind::norm_part);
  auto other_node = header(frame_kind::norm_part, 0, 1.0);
  other_node.flags = runtime::frame_flag_again;
  other_node.worker = 4;
  EXPECT_TRUE(on(other_node).empty()) << "the first node has been told, too";
  expect_sum(on(header(frame_kind::norm, 1, 5.0)), 5.0);
}

TEST_F(aggregator_norms, measures_again_what_a_shard_held_that_is_replaced) {
  push();
  EXPECT_TRUE(part(0, 1.0).empty());
  std::vector<upstream_frame> frames;
  ASSERT_TRUE(group.core.upstream_moved(0, relay::epoch + 1, frames));
  EXPECT_TRUE(part(0, 1.0).empty()) << "of the epoch before";
  EXPECT_TRUE(part(1, 2.0).empty());
  auto anew = header(frame_kind::norm_part, 0, 4.0);
  anew.epoch = relay::epoch + 1;
  expect_sum(on(anew), 6.0);
}

TEST_F(aggregator_norms, takes_nothing_of_strangers) {
  push();
  auto frame = header(frame_kind::norm, 0, 1.0);
  frame.job = relay::job + 1;
  EXPECT_TRUE(on(frame).empty());
  EXPECT_TRUE(on(header(frame_kind::norm, 2, 1.0)).empty()) << "no such shard";
}

}  // namespace
}  // namespace tidegate::policies
