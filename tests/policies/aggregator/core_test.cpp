#include "policies/aggregator/core.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "policies/model/clock_vector.hpp"
#include "tests/policies/aggregator/fixture.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::policies {
namespace {

using kind = upstream_frame::type;
using ranks = std::vector<std::uint32_t>;
using acks = shard_effects::acknowledge;
using replies = shard_effects::reply;
using releases = shard_effects::release;

constexpr consistency_spec bsp{consistency_kind::bsp, 0};
constexpr consistency_spec ssp{consistency_kind::ssp, 2};
constexpr consistency_spec async{consistency_kind::async, 0};
constexpr auto forever = clock_vector::infinity;

TEST(aggregator_core, hands_on_one_sum_per_node_when_all_members_have_pushed) {
  relay group(bsp);
  group.push(4, 0, 40);
  group.push(2, 0, 20);
  EXPECT_TRUE(group.frames.empty());
  group.push(3, 0, 30);
  ASSERT_EQ(group.frames.size(), 2u);
  const auto& frame = group.frames[0];
  EXPECT_EQ(frame.kind, kind::push);
  EXPECT_EQ(frame.tag.rank, 2u);
  EXPECT_EQ(frame.first, 0u);
  EXPECT_EQ(frame.count, 2u);
  EXPECT_FALSE(frame.pulls);
  const auto& other = group.frames[1];
  EXPECT_EQ(other.kind, kind::push);
  EXPECT_EQ(other.tag.rank, 4u);
  EXPECT_EQ(other.first, 2u);
  EXPECT_EQ(other.count, 1u);
  EXPECT_EQ(group.effects.inputs[0].payload, 20u);
  EXPECT_EQ(group.effects.inputs[1].payload, 30u);
  EXPECT_EQ(group.effects.inputs[2].payload, 40u);
  EXPECT_TRUE(group.all<releases>().empty()) << "kept until upstream has answered";
}

TEST(aggregator_core, acknowledges_when_upstream_has_applied_every_node) {
  relay group(bsp);
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 0, rank * 10);
  group.ack(2, 0);
  EXPECT_TRUE(group.effects.list.empty());
  group.ack(2, 0);
  EXPECT_TRUE(group.effects.list.empty()) << "a duplicate counted";
  group.ack(4, 0);
  EXPECT_EQ(group.ranks<acks>(), (ranks{2, 3, 4}));
  EXPECT_EQ(group.all<releases>().size(), 3u);
  group.ack(4, 0);
  EXPECT_TRUE(group.effects.list.empty());
}

TEST(aggregator_core, a_refusal_upstream_reaches_every_member) {
  relay group(bsp);
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 0, rank * 10);
  group.ack(2, 0, reply_code::job_ended);
  group.ack(4, 0);
  EXPECT_EQ(group.ranks<acks>(reply_code::job_ended), (ranks{2, 3, 4}));
}

TEST(aggregator_core, skips_are_left_out_and_a_skip_of_all_is_a_skip) {
  relay group(bsp);
  group.push(2, 0, no_payload);
  group.push(3, 0, 30);
  group.push(4, 0, no_payload);
  ASSERT_EQ(group.frames.size(), 2u);
  EXPECT_EQ(group.frames[0].kind, kind::push);
  EXPECT_EQ(group.frames[0].count, 1u);
  EXPECT_EQ(group.effects.inputs[0].rank, 3u);
  EXPECT_EQ(group.frames[1].kind, kind::skip);
  EXPECT_EQ(group.frames[1].tag.rank, 4u);
}

TEST(aggregator_core, a_duplicate_is_summed_once_and_acknowledged_again) {
  relay group(bsp);
  group.push(2, 0, 20);
  group.push(2, 0, 21);
  EXPECT_EQ(group.all<releases>().size(), 1u);
  EXPECT_TRUE(group.all<acks>().empty());
  group.push(3, 0, 30);
  group.push(4, 0, 40);
  EXPECT_EQ(group.effects.inputs.size(), 3u);
  group.push(3, 0, 31);
  EXPECT_TRUE(group.frames.empty());
  EXPECT_TRUE(group.all<acks>().empty()) << "not applied yet";
  group.ack(2, 0);
  group.ack(4, 0);
  group.push(3, 0, 32);
  EXPECT_EQ(group.ranks<acks>(), (ranks{3}));
  EXPECT_TRUE(group.frames.empty());
}

TEST(aggregator_core, a_clock_that_overtook_waits_and_beyond_the_window_is_refused) {
  relay group(async, {2, 3}, {{2, 4}});
  group.push(2, 1, 21);
  group.push(3, 0, 30);
  EXPECT_TRUE(group.frames.empty());
  group.push(2, 0, 20);
  ASSERT_EQ(group.frames.size(), 1u);
  EXPECT_EQ(group.frames[0].tag.clock, 0u);
  group.push(3, 1, 31);
  ASSERT_EQ(group.frames.size(), 1u) << "two clocks may be under way upstream";
  EXPECT_EQ(group.frames[0].tag.clock, 1u);
  group.push(2, 2, 22);
  EXPECT_EQ(group.ranks<acks>(reply_code::beyond_window), (ranks{2}));
  group.ack(2, 1);
  EXPECT_TRUE(group.all<acks>().empty()) << "clock 0 comes first";
  group.ack(2, 0);
  EXPECT_EQ(group.ranks<acks>(), (ranks{2, 3, 2, 3}));
  group.push(2, 2, 22);
  EXPECT_TRUE(group.all<acks>().empty());
}

TEST(aggregator_core, one_pull_upstream_answers_all_members) {
  relay group(bsp);
  group.pull(3, 0, 1);
  ASSERT_EQ(group.frames.size(), 1u);
  EXPECT_EQ(group.frames[0].kind, kind::pull);
  EXPECT_EQ(group.frames[0].tag.rank, 2u);
  EXPECT_EQ(group.frames[0].tag.clock, 0u);
  const auto request = group.frames[0].tag.request;
  group.pull(2, 0, 1);
  EXPECT_TRUE(group.frames.empty());
  EXPECT_FALSE(group.reply(request + 1, 0, 0));
  EXPECT_TRUE(group.reply(request, 0, 0));
  EXPECT_EQ(group.ranks<replies>(), (ranks{3, 2}));
  EXPECT_FALSE(group.reply(request, 0, 0)) << "a duplicate has no place";
  group.pull(4, 0, 1);
  EXPECT_TRUE(group.frames.empty());
  EXPECT_EQ(group.ranks<replies>(), (ranks{4}));
}

TEST(aggregator_core, a_pull_that_waits_goes_along_with_the_last_push) {
  relay group(bsp);
  group.push(2, 0, 20);
  group.pull(2, 1, 1);
  EXPECT_TRUE(group.frames.empty()) << "the others' updates are not handed on yet";
  group.push(3, 0, 30);
  group.push(4, 0, 40);
  ASSERT_EQ(group.frames.size(), 2u);
  EXPECT_TRUE(group.frames[0].pulls);
  EXPECT_FALSE(group.frames[1].pulls);
  EXPECT_TRUE(group.reply(group.frames[0].tag.request, 1, 1));
  EXPECT_EQ(group.ranks<replies>(), (ranks{2}));
  group.pull(3, 1, 1);
  EXPECT_EQ(group.ranks<replies>(), (ranks{3})) << "version 1 is here";
  EXPECT_EQ(group.all<replies>()[0].where.version, 1u);
}

TEST(aggregator_core, bsp_receives_in_place_unless_somebody_reads) {
  relay group(bsp);
  group.pull(2, 0, 1);
  group.reply(1, 0, 0);
  EXPECT_EQ(group.version_buffer, 0u);
  const auto sending = group.all<replies>()[0];
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 0, rank * 10);
  group.pull(2, 1, 2);
  EXPECT_TRUE(group.reply(2, 1, 1));
  EXPECT_EQ(group.version_buffer, 1u) << "plane 0 is still being sent";
  group.core.ingress().sent(sending.slot, 2, 0);
  group.core.ingress().sent(sending.slot, 2, 1);
  group.ack(2, 0);
  group.ack(4, 0);
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 1, rank * 10);
  group.pull(2, 2, 3);
  EXPECT_TRUE(group.reply(3, 2, 2));
  EXPECT_EQ(group.version_buffer, 1u);
}

TEST(aggregator_core, ssp_members_wait_for_each_other_and_their_pulls_for_all_sums) {
  relay group(ssp);
  group.push(2, 0, 20);
  group.pull(2, 1, 1);
  EXPECT_TRUE(group.frames.empty()) << "its own update is not handed on";
  group.push(3, 0, 30);
  group.push(4, 0, 40);
  ASSERT_EQ(group.frames.size(), 2u);
  EXPECT_FALSE(group.frames[0].pulls) << "it could overtake the second sum";
  group.ack(2, 0);
  EXPECT_TRUE(group.frames.empty());
  group.ack(4, 0);
  ASSERT_EQ(group.frames.size(), 1u);
  EXPECT_EQ(group.frames[0].kind, kind::pull);
  EXPECT_EQ(group.frames[0].tag.clock, 1u);
  EXPECT_TRUE(group.reply(group.frames[0].tag.request, 9, 0));
  EXPECT_EQ(group.ranks<replies>(), (ranks{2}));
}

TEST(aggregator_core, async_pulls_wait_for_nobody_and_a_second_one_is_newer) {
  relay group(async);
  group.push(2, 0, 20);
  group.pull(2, 1, 1);
  ASSERT_EQ(group.frames.size(), 1u);
  EXPECT_TRUE(group.reply(1, 3, 0));
  EXPECT_EQ(group.ranks<replies>(), (ranks{2}));
  const auto before = group.version_buffer;
  group.pull(3, 0, 1);
  EXPECT_EQ(group.ranks<replies>(), (ranks{3})) << "new to this member";
  group.pull(3, 0, 2);
  ASSERT_EQ(group.frames.size(), 1u) << "it has seen that one";
  EXPECT_TRUE(group.reply(2, 4, 0));
  EXPECT_NE(group.version_buffer, before) << "others may be given the old one meanwhile";
  EXPECT_EQ(group.all<replies>()[0].where.version, 4u);
}

TEST(aggregator_core, the_group_finishes_once_and_its_end_can_be_pulled) {
  relay group(bsp);
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 0, rank * 10);
  group.ack(2, 0);
  group.ack(4, 0);
  group.finish(2, 1);
  EXPECT_TRUE(group.frames.empty());
  group.pull(2, forever, 1, true);
  EXPECT_TRUE(group.frames.empty()) << "members still push";
  group.push(3, 1, 31);
  group.push(4, 1, no_payload);
  ASSERT_EQ(group.frames.size(), 2u) << "without the one that has finished";
  EXPECT_EQ(group.frames[0].count, 1u);
  group.ack(2, 1);
  group.ack(4, 1);
  group.finish(3, 2);
  group.finish(4, 2);
  std::vector<kind> kinds;
  for (const auto& frame : group.frames) kinds.push_back(frame.kind);
  EXPECT_EQ(kinds, (std::vector<kind>{kind::pull, kind::finished, kind::finished,
                                      kind::finished, kind::finished}))
      << "two nodes at two shards";
  EXPECT_TRUE(group.frames[0].is_final);
  EXPECT_EQ(group.frames[0].tag.clock, forever);
  EXPECT_TRUE(group.reply(group.frames[0].tag.request, 2, forever));
  EXPECT_EQ(group.ranks<replies>(), (ranks{2}));
  group.finish(4, 2);
  EXPECT_TRUE(group.frames.empty());
}

TEST(aggregator_core, nothing_is_answered_before_parameters_have_come) {
  for (const auto& policy : {bsp, ssp, async}) {
    relay group(policy);
    group.pull(2, 0, 1, true);
    EXPECT_TRUE(group.effects.list.size() == 1 && group.frames.size() == 1);
    EXPECT_TRUE(group.frames[0].is_final);
    EXPECT_TRUE(group.reply(group.frames[0].tag.request, 0, 0));
    EXPECT_EQ(group.ranks<replies>(), (ranks{2}));
  }
}

TEST(aggregator_core, everything_is_asked_for_as_such) {
  relay group(ssp, {2, 3}, {{2, 4}});
  group.pull(3, 0, 1);
  group.reply(1, 0, 0);
  for (const std::uint32_t rank : {2u, 3u}) group.push(rank, 0, rank * 10);
  group.pull(2, 1, 1, true);
  ASSERT_EQ(group.frames.size(), 1u);
  EXPECT_TRUE(group.frames[0].is_final);
  EXPECT_EQ(group.frames[0].tag.clock, 1u);
  EXPECT_TRUE(group.reply(group.frames[0].tag.request, 6, 1));
  EXPECT_EQ(group.ranks<replies>(), (ranks{2}));
}

// The one that waits for workers elsewhere holds nobody up who waits already.
TEST(aggregator_core, everything_is_asked_for_last) {
  relay group(ssp, {2, 3}, {{2, 4}});
  for (const std::uint32_t rank : {2u, 3u}) group.push(rank, 0, rank * 10);
  group.pull(2, 2, 1, true);
  group.pull(3, 2, 1);
  group.push(2, 1, 21);
  EXPECT_TRUE(group.all<shard_effects::ask>().empty()) << "the other's push is to come";
  group.push(3, 1, 31);
  ASSERT_EQ(group.frames.size(), 1u);
  EXPECT_TRUE(group.frames[0].pulls) << "along with the sum: it is the one of the policy";
  EXPECT_TRUE(group.reply(1, 2, 0));
  EXPECT_EQ(group.ranks<replies>(), (ranks{3}));
  ASSERT_EQ(group.frames.size(), 1u);
  EXPECT_TRUE(group.frames[0].is_final) << "and now that of everything";
  EXPECT_TRUE(group.reply(2, 4, 2));
  EXPECT_EQ(group.ranks<replies>(), (ranks{2}));
}

TEST(aggregator_core, a_refused_pull_reaches_who_waits_and_a_closed_job_refuses_all) {
  relay group(bsp);
  group.pull(2, 0, 1);
  group.pull(3, 0, 1);
  group.refuse_pull(1, reply_code::job_ended);
  EXPECT_EQ(group.ranks<replies>(reply_code::job_ended), (ranks{2, 3}));
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 0, rank * 10);
  group.effects.clear();
  group.core.ingress().admin().close_job(relay::job, group.effects);
  EXPECT_EQ(group.ranks<acks>(reply_code::job_ended), (ranks{2, 3, 4}));
  group.ack(2, 0);
  group.ack(4, 0);
  EXPECT_EQ(group.all<releases>().size(), 3u) << "which were on their way until now";
  EXPECT_EQ(group.effects.list.size(), 3u) << "late answers find nobody";
}

TEST(aggregator_core, a_reply_that_acknowledges_is_one_frame_to_each_member_that_rings) {
  relay group(bsp, {2, 3}, {{2, 4}});
  const std::vector<payload_handle> gradients{1, 2};
  for (const std::uint32_t rank : {2u, 3u}) {
    group.effects.clear();
    group.frames.clear();
    group.core.ingress().doorbell(
        relay::tag(rank, 0, 1), {.push = true, .skip = false, .pull = true, .is_final = false},
        gradients, group.effects);
    group.carry_out();
  }
  ASSERT_EQ(group.frames.size(), 2u) << "two chunks";
  EXPECT_TRUE(group.frames[0].pulls);
  group.effects.clear();
  const auto answer = relay::tag(2, 1, 1);
  group.core.begin_reply(*group.core.expects_reply(answer));
  group.core.on_reply(answer, reply_code::ok, {.version = 1, .min_clock = 1, .applied = true},
                      group.effects);
  const auto in_place = group.all<shard_effects::doorbell_reply>();
  ASSERT_EQ(in_place.size(), 2u);
  EXPECT_TRUE(in_place[0].applied && in_place[1].applied);
  EXPECT_TRUE(group.all<shard_effects::doorbell_acknowledge>().empty());
  EXPECT_EQ(group.all<releases>().size(), 2u);
  group.effects.clear();
  group.core.on_reply(answer, reply_code::ok, {.version = 1, .min_clock = 1, .applied = true},
                      group.effects);
  EXPECT_TRUE(group.effects.list.empty()) << "a duplicate";
}

TEST(aggregator_core, allocates_nothing_once_warm) {
  relay group(bsp);
  std::uint64_t request = 0;
  const auto one_clock = [&](std::uint64_t clock) {
    const auto tag = [&](std::uint32_t rank) { return relay::tag(rank, clock, clock + 1); };
    for (const std::uint32_t rank : {2u, 3u, 4u}) {
      group.effects.clear();
      group.frames.clear();
      group.core.ingress().push(tag(rank), rank * 10, group.effects);
      auto next = tag(rank);
      ++next.clock;
      group.core.ingress().pull(next, false, group.effects);
      group.carry_out();
    }
    EXPECT_EQ(group.frames.size(), 2u) << "the pull goes along";
    group.effects.clear();
    for (const std::uint32_t node : {2u, 4u})
      group.core.on_ack(relay::tag(node, clock), reply_code::ok, group.effects);
    const auto answer = relay::tag(2, 0, ++request);
    const auto slot = group.core.expects_reply(answer);
    ASSERT_TRUE(slot);
    group.core.begin_reply(*slot);
    group.core.on_reply(answer, reply_code::ok,
                        {.version = clock + 1, .min_clock = clock + 1, .applied = false},
                        group.effects);
    for (const auto& effect : group.effects.list)
      if (const auto* reply = std::get_if<replies>(&effect))
        group.core.ingress().sent(reply->slot, reply->tag.rank, reply->where.version_buffer);
  };
  for (std::uint64_t clock = 0; clock < 4; ++clock) one_clock(clock);
  const auto before = tests::allocations();
  for (std::uint64_t clock = 4; clock < 100; ++clock) one_clock(clock);
  EXPECT_EQ(tests::allocations() - before, 0u);
}

TEST(aggregator_core, a_table_that_is_forgotten_may_be_opened_again) {
  relay group(bsp);
  group.core.forget_table(relay::table);
  group.push(2, 0, 20);
  EXPECT_EQ(group.ranks<acks>(reply_code::unknown_table), ranks{2});
  const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                        {.chunk = 1, .shard = 1, .first = 8, .elements = 8}};
  EXPECT_EQ(group.core.open_table(relay::table, places)[0].slot, 2u);
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 0, rank * 10);
  EXPECT_EQ(group.frames.size(), 2u);
  group.ack(2, 0);
  group.ack(4, 0);
  EXPECT_EQ(group.ranks<acks>(), (ranks{2, 3, 4}));
}

TEST(aggregator_core, strangers_and_ranks_of_other_groups_are_refused) {
  relay group(bsp);
  EXPECT_EQ(group.core.ingress().admin().admit_worker(relay::job, 5, 1),
            reply_code::unknown_worker);
  group.push(5, 0, 50);
  EXPECT_EQ(group.ranks<acks>(reply_code::unknown_worker), (ranks{5}));
  group.ack(3, 0);  // no node
  EXPECT_TRUE(group.effects.list.empty());
}

}  // namespace
}  // namespace tidegate::policies
