// What an aggregator sends again, and what it keeps for that.
#include <gtest/gtest.h>

#include "tests/policies/aggregator_fixture.hpp"

namespace tidegate::policies {
namespace {

using kind = upstream_frame::what;
using releases = shard_effects::release;
using acks = shard_effects::acknowledge;

constexpr std::int64_t second = 1'000'000'000;
constexpr consistency_spec bsp{consistency_kind::bsp, 0};

std::vector<upstream_frame> silence(relay& group) {
  std::vector<upstream_frame> frames;
  group.core.tick(1, frames);
  EXPECT_TRUE(frames.empty()) << "only now it starts to wait";
  group.core.tick(2 * second, frames);
  return frames;
}

TEST(aggregator_again, sums_of_the_nodes_that_were_not_acknowledged) {
  relay group(bsp);
  EXPECT_FALSE(group.core.is_busy());
  group.push(2, 0, 20);
  group.push(3, 0, 30);
  group.push(4, 0, 40);
  EXPECT_TRUE(group.core.is_busy());
  const auto both = silence(group);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(both[0].again);
  EXPECT_EQ(both[0].tag.rank, 2u);
  EXPECT_EQ(both[0].single, no_payload) << "of two: the sum that was made";
  EXPECT_EQ(both[1].tag.rank, 4u);
  EXPECT_EQ(both[1].single, 40u) << "of one: what its member pushed";
  group.ack(4, 0);
  std::vector<upstream_frame> rest;
  group.core.tick(10 * second, rest);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].tag.rank, 2u);
  group.ack(2, 0);
  EXPECT_FALSE(group.core.is_busy());
}

TEST(aggregator_again, a_skip_stays_a_skip) {
  relay group(bsp);
  group.push(2, 0, no_payload);
  group.push(3, 0, no_payload);
  group.push(4, 0, 40);
  const auto frames = silence(group);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].kind, kind::skip);
  EXPECT_EQ(frames[1].kind, kind::push);
}

TEST(aggregator_again, a_pull_under_a_new_number) {
  relay group(bsp);
  group.pull(2, 0, 1);
  ASSERT_EQ(group.frames.size(), 1u);
  const auto first = group.frames[0].tag.request;
  const auto frames = silence(group);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].kind, kind::pull);
  EXPECT_GT(frames[0].tag.request, first);
  EXPECT_FALSE(group.reply(first, 0, 0)) << "too late";
  EXPECT_TRUE(group.reply(frames[0].tag.request, 0, 0));
  EXPECT_EQ(group.all<shard_effects::reply>().size(), 1u);
}

TEST(aggregator_again, a_farewell_until_every_shard_has_heard_it) {
  relay group(bsp);
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.finish(rank, 0);
  ASSERT_EQ(group.frames.size(), 4u) << "two nodes, two shards";
  group.core.on_farewell_ack(0, 2);
  group.core.on_farewell_ack(0, 4);
  group.core.on_farewell_ack(1, 2);
  const auto frames = silence(group);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].kind, kind::finished);
  EXPECT_EQ(frames[0].shard, 1u);
  EXPECT_EQ(frames[0].tag.rank, 4u);
  group.core.on_farewell_ack(1, 4);
  EXPECT_FALSE(group.core.is_busy());
}

// A sum may be on its way from the very payload that a member pushed.
TEST(aggregator_again, a_job_that_ends_keeps_what_is_on_its_way_until_it_is_answered) {
  relay group(bsp);
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 0, rank * 10);
  group.push(2, 1, 21);  // not handed on yet
  shard_effects out;
  group.core.front().close_job(relay::job, out);
  std::vector<payload_handle> released;
  for (const auto& one : out.list)
    if (const auto* release = std::get_if<releases>(&one)) released.push_back(release->payload);
  EXPECT_EQ(released, std::vector<payload_handle>{21});
  group.ack(2, 0, refusal::job_ended);
  group.ack(4, 0, refusal::job_ended);
  EXPECT_EQ(group.all<releases>().size(), 3u);
}

}  // namespace
}  // namespace tidegate::policies
