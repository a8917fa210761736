// Workers that share memory with the shard: whole tables at once, read and written in place.
#include <vector>

#include <gtest/gtest.h>

#include "policies/shard/core.hpp"
#include "tests/policies/shard/fixture.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::policies {
namespace {

using doorbell_ack = shard_effects::doorbell_acknowledge;
using doorbell_reply = shard_effects::doorbell_reply;
constexpr shard_core::doorbell_request exchange{
    .push = true, .skip = false, .pull = true, .is_final = false};
constexpr shard_core::doorbell_request push_only{
    .push = true, .skip = false, .pull = false, .is_final = false};
constexpr shard_core::doorbell_request pull_only{
    .push = false, .skip = false, .pull = true, .is_final = false};

TEST(reply_batcher, a_ring_speaks_for_all_chunks_and_is_answered_by_one_frame) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  const std::vector<payload_handle> first{1, 2}, second{3, 4};
  auto at = tag(0, 0);
  core.doorbell(at, exchange, first, out);
  EXPECT_TRUE(out.list.empty());
  EXPECT_EQ(core.pushes_held(), 2u);
  at = tag(1, 0);
  core.doorbell(at, exchange, second, out);
  ASSERT_EQ(all<apply>(out).size(), 2u);
  EXPECT_EQ(all<apply>(out)[0].from, all<apply>(out)[0].to) << "in place, nobody reads";
  EXPECT_TRUE(all<doorbell_ack>(out).empty()) << "the replies acknowledge, too";
  const auto replies = all<doorbell_reply>(out);
  ASSERT_EQ(replies.size(), 2u);
  for (const auto& reply : replies) {
    EXPECT_EQ(reply.tag.chunk, 0u) << "an index";
    EXPECT_EQ(reply.count, 2u);
    EXPECT_EQ(reply.tag.clock, 1u);
    EXPECT_TRUE(reply.applied);
    EXPECT_EQ(reply.where.version, 1u);
  }
  EXPECT_EQ(all<release>(out).size(), 4u);
}

TEST(reply_batcher, rings_and_frames_mix_in_one_clock) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  const std::vector<payload_handle> both{1, 2};
  core.doorbell(tag(0, 0), push_only, both, out);
  core.push(tag(1, 0, 2), 8, out);
  ASSERT_EQ(all<doorbell_ack>(out).size(), 1u) << "of the second chunk only";
  EXPECT_EQ(all<doorbell_ack>(out)[0].tag.chunk, 1u);
  EXPECT_EQ(all<doorbell_ack>(out)[0].count, 1u);
  core.push(tag(1, 0, 0), 7, out);
  EXPECT_EQ(all<apply>(out).size(), 2u);
  EXPECT_EQ(all<doorbell_ack>(out).size(), 2u);
  EXPECT_EQ(all<ack>(out).size(), 2u);
}

// A worker that pushes ranges has a doorbell for each run of chunks with one fate.
TEST(reply_batcher, a_ring_may_speak_for_some_chunks) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  const std::vector<payload_handle> first{1}, both{3, 4};
  core.doorbell(tag(0, 0), {.push = true, .first = 1, .count = 1}, first, out);
  EXPECT_EQ(core.pushes_held(), 1u);
  core.doorbell(tag(1, 0), push_only, both, out);
  ASSERT_EQ(all<apply>(out).size(), 1u) << "of the second chunk";
  EXPECT_EQ(all<doorbell_ack>(out)[0].tag.chunk, 1u);
  out.clear();
  core.doorbell(tag(0, 0), {.skip = true, .first = 0, .count = 1}, {}, out);
  ASSERT_EQ(all<apply>(out).size(), 1u) << "of the first, without rank 0";
  EXPECT_EQ(all<apply>(out)[0].count, 1u);
  out.clear();
  auto at = tag(0, 1);
  at.request = 1;
  core.doorbell(at, {.pull = true, .first = 1, .count = 1}, {}, out);
  ASSERT_EQ(all<doorbell_reply>(out).size(), 1u);
  EXPECT_EQ(all<doorbell_reply>(out)[0].tag.chunk, 1u) << "an index";
  EXPECT_EQ(all<doorbell_reply>(out)[0].count, 1u);
}

// What somebody reads in place is not written until they pull again or push.
TEST(reply_batcher, a_lease_keeps_its_version_buffer) {
  auto core = make_core({consistency_kind::async, 0}, 2);
  shard_effects out;
  core.doorbell(tag(0, 0), pull_only, {}, out);
  ASSERT_EQ(all<doorbell_reply>(out).size(), 1u);
  EXPECT_EQ(all<doorbell_reply>(out)[0].where.version_buffer, 0u);
  out.clear();
  const std::vector<payload_handle> other{1, 2}, another{3, 4}, own{5, 6};
  core.doorbell(tag(1, 0), push_only, other, out);
  ASSERT_EQ(all<apply>(out).size(), 2u);
  EXPECT_EQ(all<apply>(out)[0].from, 0u);
  EXPECT_EQ(all<apply>(out)[0].to, 1u) << "worker 0 reads plane 0";
  out.clear();
  core.doorbell(tag(1, 1), push_only, another, out);
  EXPECT_EQ(all<apply>(out)[0].to, 1u) << "nobody reads plane 1";
  out.clear();
  core.doorbell(tag(0, 0), push_only, own, out);
  auto next = tag(0, 1);
  next.request = 9;
  core.doorbell(next, pull_only, {}, out);
  EXPECT_EQ(all<doorbell_reply>(out).at(0).where.version_buffer, 1u);
  out.clear();
  core.doorbell(tag(1, 2), push_only, other, out);
  EXPECT_EQ(all<apply>(out)[0].to, 0u) << "free again since worker 0 pushed";
}

TEST(reply_batcher, a_late_or_second_copy_of_a_pull_ends_no_lease) {
  auto core = make_core({consistency_kind::async, 0}, 2);
  shard_effects out;
  core.doorbell(tag(0, 0), pull_only, {}, out);
  core.doorbell(tag(0, 0), pull_only, {}, out);
  EXPECT_EQ(all<doorbell_reply>(out).size(), 1u);
  out.clear();
  const std::vector<payload_handle> other{1, 2};
  core.doorbell(tag(1, 0), push_only, other, out);
  EXPECT_EQ(all<apply>(out)[0].to, 1u) << "the lease stands";
}

TEST(reply_batcher, a_reply_that_is_being_sent_keeps_its_version_buffer) {
  auto core = make_core({consistency_kind::async, 0}, 1);
  shard_effects out;
  core.pull(tag(0, 0), false, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  core.push(tag(0, 0), 1, out);
  EXPECT_EQ(all<apply>(out).at(0).to, 1u);
  core.sent(all<reply>(out)[0].slot, 0, 0);
  out.clear();
  core.push(tag(0, 1), 2, out);
  EXPECT_EQ(all<apply>(out).at(0).to, 1u) << "in place again";
}

TEST(reply_batcher, a_ring_that_is_refused_gives_everything_back) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  auto stranger = tag(0, 0);
  stranger.table = 6;
  const std::vector<payload_handle> both{1, 2};
  core.doorbell(stranger, exchange, both, out);
  EXPECT_EQ(all<release>(out).size(), 2u);
  ASSERT_EQ(all<doorbell_ack>(out).size(), 1u);
  EXPECT_EQ(all<doorbell_ack>(out)[0].code, reply_code::unknown_table);
  EXPECT_EQ(all<doorbell_ack>(out)[0].count, 0u) << "all of the table";
  EXPECT_EQ(all<doorbell_reply>(out).at(0).tag.clock, 1u);
  out.clear();
  core.doorbell(tag(0, 5), push_only, both, out);
  EXPECT_EQ(all<doorbell_ack>(out).at(0).code, reply_code::beyond_window);
  EXPECT_EQ(all<release>(out).size(), 2u);
}

TEST(reply_batcher, a_warm_exchange_of_rings_allocates_nothing) {
  for (auto kind : {consistency_kind::bsp, consistency_kind::ssp, consistency_kind::async}) {
    auto core = make_core({kind, 1}, 4);
    shard_effects out;
    const std::vector<payload_handle> both{1, 2};
    const auto one_clock = [&](std::uint64_t clock) {
      for (std::uint32_t rank = 0; rank < 4; ++rank) {
        out.clear();
        auto at = tag(rank, clock);
        core.doorbell(at, exchange, both, out);
      }
    };
    for (std::uint64_t clock = 0; clock < 4; ++clock) one_clock(clock);
    const auto before = tests::allocations();
    for (std::uint64_t clock = 4; clock < 100; ++clock) one_clock(clock);
    EXPECT_EQ(tests::allocations() - before, 0u);
  }
}

}  // namespace
}  // namespace tidegate::policies
