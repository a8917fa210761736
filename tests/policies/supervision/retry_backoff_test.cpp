// What is sent again when no answer comes.
#include <algorithm>

#include <gtest/gtest.h>

#include "policies/shard/core.hpp"
#include "policies/supervision/retransmit_timer.hpp"
#include "policies/worker/core.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;
using kind = worker_effects::send_kind;
using extent = worker_core::extent;

constexpr std::int64_t second = 1'000'000'000;

TEST(retransmit_timer, asks_after_one_second_and_then_after_twice_as_long_up_to_eight) {
  retransmit_timer entry;
  std::vector<std::int64_t> asked;
  for (std::int64_t now = 10 * second; now < 60 * second; now += second / 10)
    if (entry.is_due(now)) asked.push_back((now - 10 * second) / second);
  EXPECT_EQ(asked, (std::vector<std::int64_t>{1, 3, 7, 15, 23, 31, 39, 47}));
}

// Table 3: two chunks, on shards 0 and 1, and one more on shard 1.
worker_core make_core() {
  worker_core core(2);
  core.add_table(3, {{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                     {.chunk = 1, .shard = 1, .first = 8, .elements = 8},
                     {.chunk = 2, .shard = 1, .first = 16, .elements = 4}});
  return core;
}

// What is sent when nothing has been heard for two seconds.
std::vector<worker_effects::send> silence(worker_core& core, std::int64_t from = 0) {
  worker_effects out;
  core.tick(from + 1, out);
  EXPECT_TRUE(out.sends.empty()) << "only now it starts to wait";
  core.tick(from + 2 * second, out);
  return out.sends;
}

TEST(worker_again, only_the_chunks_of_a_push_that_nobody_acknowledged) {
  auto core = make_core();
  worker_effects out;
  EXPECT_FALSE(core.is_busy());
  ASSERT_EQ(core.push(3, 1, out, 1), errc::ok);
  EXPECT_TRUE(core.is_busy());
  core.on_ack(3, 1, 0, reply_code::ok, out);
  const auto sent = silence(core);
  ASSERT_EQ(sent.size(), 2u);
  for (const auto& send : sent) {
    EXPECT_EQ(send.kind, kind::push);
    EXPECT_EQ(send.half, 1u) << "where the gradient lies";
    EXPECT_EQ(send.clock, 0u);
  }
  EXPECT_EQ(sent[0].chunk, 0u);
  EXPECT_EQ(sent[1].chunk, 2u);
  EXPECT_EQ(sent[1].first, 16u);
  core.on_ack(3, 0, 0, reply_code::ok, out);
  core.on_ack(3, 2, 0, reply_code::ok, out);
  EXPECT_FALSE(core.is_busy());
  out.clear();
  core.tick(100 * second, out);
  EXPECT_TRUE(out.sends.empty());
}

TEST(worker_again, a_skip_stays_a_skip) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.clock(1, out), errc::ok);
  const auto sent = silence(core);
  ASSERT_EQ(sent.size(), 3u);
  for (const auto& send : sent) EXPECT_EQ(send.kind, kind::skip);
}

TEST(worker_again, a_pull_has_a_new_number_and_the_old_reply_comes_too_late) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.pull(3, 1, extent::as_policy, out), errc::ok);
  const auto before = out.sends[0].request;
  core.begin_reply(3, 1);
  core.on_reply(
      3, 1, {.request = before, .code = reply_code::ok, .min_clock = 0, .version_buffer = 0},
      out);
  core.begin_reply(3, 2);  // still on its way
  const auto sent = silence(core);
  ASSERT_EQ(sent.size(), 1u) << "neither what is there nor what is arriving";
  EXPECT_EQ(sent[0].chunk, 0u);
  EXPECT_GT(sent[0].request, before);
  EXPECT_FALSE(core.expects_reply(3, 0, before));
  EXPECT_TRUE(core.expects_reply(3, 0, sent[0].request));
  core.on_reply(
      3, 2, {.request = before, .code = reply_code::ok, .min_clock = 0, .version_buffer = 0},
      out);
  out.dones.clear();
  core.begin_reply(3, 0);
  core.on_reply(
      3, 0,
      {.request = sent[0].request, .code = reply_code::ok, .min_clock = 0, .version_buffer = 0},
      out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].code, reply_code::ok);
}

// The lease moves to what is answered last, and so must all of the part.
TEST(worker_again, a_part_in_place_is_asked_for_as_a_whole) {
  auto core = make_core();
  core.attach(3, 1);
  worker_effects out;
  ASSERT_EQ(core.pull(3, 1, extent::as_policy, out), errc::ok);
  const auto before = out.sends[0].request;
  core.on_doorbell_reply(
      {.table = 3, .shard = 1, .first = 0, .count = 1},
      {.request = before, .code = reply_code::ok, .min_clock = 0, .version_buffer = 5}, out);
  core.begin_reply(3, 0);
  core.on_reply(
      3, 0, {.request = before, .code = reply_code::ok, .min_clock = 0, .version_buffer = 0},
      out);
  const auto sent = silence(core);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, kind::doorbell);
  core.on_doorbell_reply(
      {.table = 3, .shard = 1, .first = 0, .count = 2},
      {.request = sent[0].request, .code = reply_code::ok, .min_clock = 0, .version_buffer = 7},
      out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(core.tables().sources_of(3)[1].version_buffer, 7u);
  EXPECT_EQ(core.tables().sources_of(3)[2].version_buffer, 7u);
}

TEST(worker_again, a_farewell_to_those_who_have_not_heard_it) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.finish(1, out), errc::ok);
  core.on_finish_ack(1, reply_code::ok, out);
  const auto sent = silence(core);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].kind, kind::finished);
  EXPECT_EQ(sent[0].shard, 0u);
}

TEST(worker_again, a_farewell_to_who_takes_the_place_of_one_that_has_heard_it) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.finish(1, out), errc::ok);
  core.on_finish_ack(0, reply_code::ok, out);
  core.on_finish_ack(1, reply_code::ok, out);
  EXPECT_FALSE(core.is_busy());
  out.clear();
  core.shard_moved(1);
  core.retransmit(1, out);
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].kind, kind::finished);
  EXPECT_EQ(out.sends[0].shard, 1u);
  EXPECT_TRUE(core.is_busy()) << "until it is heard";
  EXPECT_TRUE(core.on_finish_ack(1, reply_code::ok, out));
  EXPECT_FALSE(core.is_busy());
  EXPECT_TRUE(out.dones.empty()) << "finish() has ended long ago";
}

// What a shard makes of it.
class shard_again : public testing::Test {
 protected:
  void SetUp() override {
    core_.admin().open_job(7, {.epoch = 1,
                               .workers = 2,
                               .consistency = {consistency_kind::bsp, 0},
                               .workers_come_back = false,
                               .members = {}});
    core_.admin().open_table(7, 3, places_);
    for (const std::uint32_t rank : {0u, 1u}) core_.admin().admit_worker(7, rank, 1);
  }
  static frame_tag tag(std::uint32_t rank, std::uint64_t clock, std::uint64_t request = 0) {
    return {.job = 7,
            .epoch = 1,
            .incarnation = 1,
            .rank = rank,
            .table = 3,
            .chunk = 0,
            .clock = clock,
            .request = request};
  }
  // Numbers of the replies so far.
  std::vector<std::uint64_t> replied() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& effect : out_.list)
      if (const auto* reply = std::get_if<shard_effects::reply>(&effect)) {
        EXPECT_EQ(reply->code, reply_code::ok);
        numbers.push_back(reply->tag.request);
      }
    return numbers;
  }

  const std::vector<chunk_place> places_{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}};
  shard_core core_;
  shard_effects out_;
};

TEST_F(shard_again, a_parked_pull_is_answered_once_under_its_last_number) {
  core_.pull(tag(0, 1, 1), false, out_);
  core_.pull(tag(0, 1, 2), false, out_);
  core_.pull(tag(0, 1, 1), false, out_);  // late
  EXPECT_TRUE(replied().empty());
  core_.push(tag(0, 0), 1, out_);
  core_.push(tag(1, 0), 2, out_);
  EXPECT_EQ(replied(), std::vector<std::uint64_t>{2});
}

TEST_F(shard_again, a_pull_whose_reply_was_lost_is_answered_again) {
  core_.pull(tag(0, 0, 1), false, out_);
  core_.sent(0, 0, 0);
  core_.pull(tag(0, 0, 2), false, out_);
  EXPECT_EQ(replied(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(shard_again, a_third_answer_is_not_sent_while_two_are_on_their_way) {
  for (const std::uint64_t number : {1u, 2u, 3u}) core_.pull(tag(0, 0, number), false, out_);
  EXPECT_EQ(replied(), (std::vector<std::uint64_t>{1, 2}));
  core_.sent(0, 0, 0);
  core_.pull(tag(0, 0, 4), false, out_);
  EXPECT_EQ(replied(), (std::vector<std::uint64_t>{1, 2, 4}));
}

TEST_F(shard_again, a_pull_at_another_clock_while_one_is_parked_is_refused) {
  core_.pull(tag(0, 1, 1), false, out_);
  core_.pull(tag(0, 2, 2), false, out_);
  ASSERT_EQ(out_.list.size(), 1u);
  EXPECT_EQ(std::get<shard_effects::reply>(out_.list[0]).code, reply_code::pull_under_way);
}

}  // namespace
}  // namespace tidegate::policies
