// What an aggregator sends again, and what it keeps for that.
#include <gtest/gtest.h>

#include "tests/policies/aggregator/fixture.hpp"

namespace tidegate::policies {
namespace {

using kind = upstream_frame::type;
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

TEST(aggregator_again, a_node_has_the_rate_of_its_lowest_rank_when_it_is_sent_again_too) {
  relay group(bsp);
  group.push(4, 0, 40, 4.0F);
  group.push(2, 0, 20, 2.0F);
  group.push(3, 0, 30, 3.0F);
  ASSERT_EQ(group.frames.size(), 2u);
  EXPECT_EQ(group.frames[0].tag.rate, 2.0F);
  EXPECT_EQ(group.frames[1].tag.rate, 4.0F);
  EXPECT_EQ(header_of(group.frames[1]).rate, 4.0F);
  std::vector<upstream_frame> again;
  for (std::int64_t now = 0; again.empty(); now += 100'000'000) group.core.tick(now, again);
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].tag.rate, 2.0F);
  EXPECT_EQ(again[1].tag.rate, 4.0F);
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
  EXPECT_TRUE(both[0].retransmit);
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

// In the place of one that has died: chunk 0 has clock 4 and lacks 5, chunk 1 lacks 4.
struct successor {
  explicit successor(consistency_spec consistency) {
    core.open_job({.token = relay::job,
                   .epoch = relay::epoch + 1,
                   .workers = 4,
                   .consistency = consistency,
                   .members = {0, 1},
                   .nodes = {{0, 2}},
                   .upstream_epochs = {relay::epoch},
                   .workers_come_back = true,
                   .incarnation = 3,
                   .upstream_moves = true});
    const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                          {.chunk = 1, .shard = 0, .first = 8, .elements = 8}};
    core.begin_at(core.open_table(relay::table, places), std::vector<std::uint64_t>{5, 4});
    for (const std::uint32_t rank : {0u, 1u})
      EXPECT_EQ(core.ingress().admin().admit_worker(relay::job, rank, 2), reply_code::ok);
  }
  frame_tag member(std::uint32_t rank, std::uint32_t chunk, std::uint64_t clock,
                   std::uint64_t request = 0) const {
    return {.job = relay::job,
            .epoch = relay::epoch + 1,
            .incarnation = 2,
            .rank = rank,
            .table = relay::table,
            .chunk = chunk,
            .clock = clock,
            .request = request};
  }
  void carry_out() {
    frames.clear();
    for (const auto& effect : out.list) {
      if (const auto* sum = std::get_if<shard_effects::hand_on>(&effect))
        core.hand_on(*sum, std::span(out.inputs).subspan(sum->first, sum->count), frames);
      if (const auto* ask = std::get_if<shard_effects::ask>(&effect)) core.ask(*ask, frames);
    }
  }
  void push(std::uint32_t rank, std::uint32_t chunk, std::uint64_t clock) {
    out.clear();
    core.ingress().push(member(rank, chunk, clock), 10 + rank, out);
    carry_out();
  }
  void pull(std::uint32_t rank, std::uint32_t chunk, std::uint64_t clock,
            std::uint64_t request) {
    out.clear();
    core.ingress().pull(member(rank, chunk, clock, request), false, out);
    carry_out();
  }
  // Upstream's answer to the pull in `frames`.
  void reply(std::uint64_t version) {
    const auto asked = frames.at(0).tag;
    out.clear();
    const auto slot = core.expects_reply(asked);
    ASSERT_TRUE(slot);
    core.begin_reply(*slot);
    core.on_reply(asked, reply_code::ok,
                  {.version = version, .min_clock = version, .applied = false}, out);
    carry_out();
  }
  std::vector<std::uint32_t> answered() const {
    std::vector<std::uint32_t> ranks;
    for (const auto& effect : out.list)
      if (const auto* reply = std::get_if<shard_effects::reply>(&effect))
        if (reply->code == reply_code::ok) ranks.push_back(reply->tag.rank);
    return ranks;
  }

  aggregator_core core;
  shard_effects out;
  std::vector<upstream_frame> frames;
};

TEST(aggregator_again, in_the_place_of_another_it_goes_on_where_upstream_is) {
  successor next(bsp);
  next.push(0, 0, 4);
  EXPECT_TRUE(next.frames.empty());
  ASSERT_EQ(next.out.list.size(), 2u) << "chunk 0 has it: given back, acknowledged";
  EXPECT_EQ(std::get<acks>(next.out.list.back()).code, reply_code::ok);
  next.push(0, 1, 4);
  EXPECT_TRUE(next.out.list.empty()) << "chunk 1 lacks it";
  next.push(1, 1, 4);
  ASSERT_EQ(next.frames.size(), 1u);
  EXPECT_EQ(next.frames[0].tag.clock, 4u);
  EXPECT_EQ(next.frames[0].tag.incarnation, 3u) << "not that of the one before";
  EXPECT_EQ(next.frames[0].tag.epoch, relay::epoch) << "of upstream";
  next.push(0, 0, 7);
  EXPECT_EQ(std::get<acks>(next.out.list.back()).code, reply_code::beyond_window) << "5, 6";
  EXPECT_EQ(next.core.ingress().admin().first_clocks(relay::job, std::vector<std::uint32_t>{0}),
            (std::vector<chunk_clock>{{relay::table, 0, 5}, {relay::table, 1, 4}}));
}

// A member that died with it repeats clock 4, of which upstream keeps the version.
TEST(aggregator_again, a_version_that_it_never_had_is_asked_for) {
  successor next(bsp);
  next.pull(0, 0, 5, 1);
  ASSERT_EQ(next.frames.size(), 1u);
  next.reply(5);
  EXPECT_EQ(next.answered(), std::vector<std::uint32_t>{0});
  next.pull(1, 0, 4, 1);
  ASSERT_EQ(next.frames.size(), 1u) << "one that has come back";
  EXPECT_EQ(next.frames[0].tag.clock, 4u);
  next.reply(4);
  EXPECT_EQ(next.answered(), std::vector<std::uint32_t>{1});
  next.pull(1, 0, 5, 2);
  EXPECT_TRUE(next.frames.empty()) << "the other one is kept";
  EXPECT_EQ(next.answered(), std::vector<std::uint32_t>{1});
}

TEST(aggregator_again, a_version_that_is_gone_is_refused_to_who_asks_for_it) {
  successor next(bsp);
  next.pull(0, 0, 3, 1);
  const auto asked = next.frames.at(0).tag;
  next.pull(1, 0, 5, 1);
  next.out.clear();
  next.core.on_reply(asked, reply_code::too_late, {}, next.out);
  std::vector<std::uint32_t> refused;
  for (const auto& effect : next.out.list)
    if (const auto* reply = std::get_if<shard_effects::reply>(&effect))
      refused.push_back(reply->tag.rank);
  EXPECT_EQ(refused, std::vector<std::uint32_t>{0});
  next.carry_out();
  ASSERT_EQ(next.frames.size(), 1u) << "the other one asks on";
  EXPECT_EQ(next.frames[0].tag.clock, 5u);
}

TEST(aggregator_again, a_farewell_is_said_again_to_who_takes_the_place_of_another) {
  successor next(bsp);
  for (const std::uint32_t rank : {0u, 1u}) {
    next.out.clear();
    next.core.ingress().admin().has_finished(relay::job, rank,
                                             next.out);  // the coordinator's word
  }
  next.frames.clear();
  next.core.say_farewell(next.frames);
  ASSERT_EQ(next.frames.size(), 1u);
  next.core.on_farewell_ack(0, 0);
  EXPECT_FALSE(next.core.is_busy());
  next.frames.clear();
  EXPECT_TRUE(next.core.upstream_moved(0, relay::epoch + 1, next.frames));
  ASSERT_EQ(next.frames.size(), 1u);
  EXPECT_EQ(next.frames[0].kind, kind::finished);
  EXPECT_TRUE(next.core.is_busy()) << "until it is heard";
}

// A sum may be on its way from the very payload that a member pushed.
TEST(aggregator_again, a_job_that_ends_keeps_what_is_on_its_way_until_it_is_answered) {
  relay group(bsp);
  for (const std::uint32_t rank : {2u, 3u, 4u}) group.push(rank, 0, rank * 10);
  group.push(2, 1, 21);  // not handed on yet
  shard_effects out;
  group.core.ingress().admin().close_job(relay::job, out);
  std::vector<payload_handle> released;
  for (const auto& effect : out.list)
    if (const auto* release = std::get_if<releases>(&effect))
      released.push_back(release->payload);
  EXPECT_EQ(released, std::vector<payload_handle>{21});
  group.ack(2, 0, reply_code::job_ended);
  group.ack(4, 0, reply_code::job_ended);
  EXPECT_EQ(group.all<releases>().size(), 3u);
}

}  // namespace
}  // namespace tidegate::policies
