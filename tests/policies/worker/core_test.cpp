#include "tests/policies/worker/fixture.hpp"

namespace tidegate::policies {
namespace {

TEST(worker_core, a_push_goes_chunk_by_chunk_to_its_shards_and_ends_with_the_last_ack) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(out.sends[1].kind, kind::push);
  EXPECT_EQ(out.sends[1].shard, 1u);
  EXPECT_EQ(out.sends[1].first, 8u);
  EXPECT_EQ(out.sends[1].elements, 4u);
  core.on_ack(3, 1, 0, reply_code::ok, out);
  core.on_ack(3, 1, 0, reply_code::ok, out);  // duplicated on the way
  EXPECT_TRUE(out.dones.empty());
  core.on_ack(3, 0, 0, reply_code::ok, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].op, 1u);
}

TEST(worker_core, says_where_gradients_lie_and_how_many_may_still_be_read) {
  auto core = make_core();
  core.attach(4, 1);
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out, 1), errc::ok);
  EXPECT_EQ(core.pushes_under_way(), 1u);
  ASSERT_EQ(core.clock(2, out), errc::ok);
  EXPECT_EQ(core.pushes_under_way(), 1u) << "a skip has no gradient";
  out.clear();
  const std::uint32_t tables[] = {3, 4};
  ASSERT_EQ(core.exchange(tables, 3, out, 1), errc::ok);
  EXPECT_EQ(core.pushes_under_way(), 3u);
  ASSERT_EQ(out.sends.size(), 3u);
  for (const auto& one : out.sends) EXPECT_EQ(one.half, 1u);
  ack_all(core, 0, out);
  EXPECT_EQ(core.pushes_under_way(), 2u);
  ack_all(core, 1, out);
  EXPECT_EQ(core.pushes_under_way(), 0u);
}

TEST(worker_core, pushes_carry_the_rate_of_their_clock_whenever_they_are_sent) {
  auto core = make_core();
  core.attach(3, 0);
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out, 0, 0.5F), errc::ok);
  const std::uint32_t tables[] = {4};
  ASSERT_EQ(core.exchange(tables, 2, out, 0, 0.25F), errc::ok);
  const auto expect_rates = [&] {
    ASSERT_FALSE(out.sends.empty());
    for (const auto& sent : out.sends) {
      if (sent.kind == kind::pull || (sent.kind == kind::doorbell && !sent.pushes)) continue;
      EXPECT_EQ(sent.rate, sent.table == 3 ? 0.5F : 0.25F);
    }
  };
  expect_rates();
  out.clear();
  core.resend(1, out);
  expect_rates();
}

TEST(worker_core, calls_out_of_order_are_refused_and_change_nothing) {
  auto core = make_core();
  worker_effects out;
  EXPECT_EQ(core.push(9, 1, out), errc::not_found);
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  EXPECT_EQ(core.push(3, 2, out), errc::out_of_order) << "second push of the clock";
  EXPECT_EQ(core.pull(3, 3, extent::as_policy, out), errc::out_of_order) << "pull after push";
  ASSERT_EQ(core.pull(4, 4, extent::as_policy, out), errc::ok);
  EXPECT_EQ(core.pull(4, 5, extent::as_policy, out), errc::out_of_order) << "pull under way";
  EXPECT_EQ(core.push(4, 6, out), errc::out_of_order) << "push while pulling";
  EXPECT_EQ(core.clock(7, out), errc::out_of_order) << "clock while pulling";
  EXPECT_EQ(core.finish(8, out), errc::out_of_order) << "finish while pulling";
  EXPECT_EQ(out.sends.size(), 3u);
  EXPECT_TRUE(out.dones.empty());
}

TEST(worker_core, clock_skips_what_was_not_pushed) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  out.clear();
  ASSERT_EQ(core.clock(2, out), errc::ok);
  ASSERT_EQ(out.sends.size(), 1u);
  EXPECT_EQ(out.sends[0].kind, kind::skip);
  EXPECT_EQ(out.sends[0].table, 4u);
  EXPECT_TRUE(core.has_room()) << "one clock in flight is within the window";
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(core.now(), 1u);
}

TEST(worker_core, a_push_waits_for_the_credit_window_and_a_pull_does_not) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.clock(1, out), errc::ok);
  ASSERT_EQ(core.clock(2, out), errc::ok);
  ASSERT_EQ(out.dones.size(), 2u);
  EXPECT_FALSE(core.has_room()) << "two clocks in flight: the next push would be a third";
  EXPECT_EQ(core.push(3, 9, out), errc::out_of_order);
  EXPECT_EQ(core.clock(9, out), errc::out_of_order) << "its skips would be, too";
  const std::uint32_t three[] = {3};
  EXPECT_EQ(core.exchange(three, 9, out), errc::out_of_order);
  out.clear();
  ASSERT_EQ(core.pull(4, 3, extent::as_policy, out), errc::ok);
  EXPECT_EQ(out.sends.size(), 1u);
  out.clear();
  ASSERT_EQ(core.room(4, out), errc::ok);
  EXPECT_EQ(core.room(5, out), errc::out_of_order);
  EXPECT_EQ(core.finish(5, out), errc::out_of_order);
  EXPECT_TRUE(out.dones.empty());
  ack_all(core, 0, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].op, 4u);
  ASSERT_EQ(core.push(3, 6, out), errc::ok);
  EXPECT_TRUE(core.has_room()) << "for the clock's other pushes";
  out.clear();
  ASSERT_EQ(core.room(7, out), errc::ok);
  EXPECT_EQ(out.dones.size(), 1u) << "at once";
}

TEST(worker_core, acks_may_come_in_any_order) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.clock(1, out), errc::ok);
  ASSERT_EQ(core.clock(2, out), errc::ok);
  ASSERT_EQ(core.room(3, out), errc::ok);
  out.clear();
  ack_all(core, 1, out);
  EXPECT_TRUE(out.dones.empty()) << "clock 0 is still in flight";
  ack_all(core, 0, out);
  EXPECT_EQ(out.dones.size(), 1u);
}

TEST(worker_core, what_has_no_answer_is_sent_again_older_clocks_first) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.clock(1, out), errc::ok);
  ASSERT_EQ(core.clock(2, out), errc::ok);
  out.clear();
  core.retransmit(0, out);
  ASSERT_EQ(out.sends.size(), 2U);
  EXPECT_EQ(out.sends[0].clock, 0U);
  EXPECT_EQ(out.sends[1].clock, 1U);
}

TEST(worker_core, a_refused_push_fails_it_and_what_waits) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.push(4, 1, out), errc::ok);
  core.on_ack(4, 0, 0, reply_code::no_memory, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].code, reply_code::no_memory);
  out.clear();
  EXPECT_EQ(core.clock(2, out), errc::cancelled);
  EXPECT_EQ(core.push(3, 3, out), errc::cancelled);
  EXPECT_EQ(core.pull(3, 4, extent::as_policy, out), errc::cancelled);
  EXPECT_EQ(core.finish(5, out), errc::cancelled);
  EXPECT_EQ(core.failure(), reply_code::no_memory);
  EXPECT_TRUE(out.sends.empty());
}

TEST(worker_core, a_refusal_ends_who_waits_for_credits) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.clock(1, out), errc::ok);
  ASSERT_EQ(core.clock(2, out), errc::ok);
  ASSERT_EQ(core.room(3, out), errc::ok);
  out.clear();
  core.on_ack(4, 0, 0, reply_code::job_ended, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].op, 3u);
  EXPECT_EQ(out.dones[0].code, reply_code::job_ended);
  EXPECT_EQ(core.push(3, 3, out), errc::cancelled) << "and does not run into the open window";
}

// The other shards' answers may never come: they wait for workers that will not push.
TEST(worker_core, a_refusal_ends_every_operation_once) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.clock(1, out), errc::ok);
  ASSERT_EQ(core.pull(4, 2, extent::as_policy, out), errc::ok);
  ASSERT_EQ(core.push(3, 3, out), errc::ok);
  out.clear();
  core.begin_reply(4, 0);
  core.on_ack(3, 0, 1, reply_code::no_memory, out);
  ASSERT_EQ(out.dones.size(), 2u);
  for (const auto& one : out.dones) EXPECT_EQ(one.code, reply_code::no_memory);
  EXPECT_EQ(out.dones[0].op + out.dones[1].op, 5u) << "the push, with one answer, and the pull";
  out.clear();
  EXPECT_FALSE(core.expects_reply(4, 0, 1));
  core.on_reply(
      4, 0, {.request = 1, .code = reply_code::ok, .min_clock = 1, .version_buffer = 0}, out);
  core.on_ack(3, 1, 1, reply_code::no_memory, out);
  core.on_ack(3, 1, 0, reply_code::job_ended, out);
  ack_all(core, 0, out);
  EXPECT_TRUE(out.dones.empty() && out.sends.empty()) << "late answers are nobody's";
  EXPECT_EQ(core.failure(), reply_code::no_memory);
}

TEST(worker_core, a_refused_farewell_ends_finish_once) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.finish(1, out), errc::ok);
  core.on_finish_ack(0, reply_code::job_ended, out);
  core.on_finish_ack(1, reply_code::job_ended, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].code, reply_code::job_ended);
  EXPECT_EQ(core.pull(3, 2, extent::to_the_end, out), errc::cancelled);
}

TEST(worker_core, a_pull_ends_with_its_last_reply_and_measures_staleness) {
  auto core = make_core();
  worker_effects out;
  for (std::uint64_t clock = 0; clock < 4; ++clock) {
    ASSERT_EQ(core.clock(1 + clock, out), errc::ok);
    ack_all(core, clock, out);
  }
  out.clear();
  ASSERT_EQ(core.pull(3, 9, extent::as_policy, out), errc::ok);
  EXPECT_TRUE(core.expects_reply(3, 0, 1));
  EXPECT_FALSE(core.expects_reply(3, 0, 0)) << "of an earlier pull";
  EXPECT_FALSE(core.expects_reply(3, 2, 1)) << "no such chunk";
  core.begin_reply(3, 0);
  EXPECT_FALSE(core.expects_reply(3, 0, 1)) << "a second copy has no place";
  core.on_reply(
      3, 0, {.request = 1, .code = reply_code::ok, .min_clock = 4, .version_buffer = 0}, out);
  EXPECT_FALSE(core.expects_reply(3, 0, 1)) << "nor a late one";
  core.on_reply(
      3, 0, {.request = 1, .code = reply_code::ok, .min_clock = 0, .version_buffer = 0}, out);
  EXPECT_TRUE(out.dones.empty());
  core.begin_reply(3, 1);
  core.on_reply(
      3, 1, {.request = 1, .code = reply_code::ok, .min_clock = 1, .version_buffer = 0}, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(core.staleness().max, 3u);
  EXPECT_EQ(core.staleness().counts, (staleness_counts{1, 0, 0, 1})) << "one for each chunk";
}

TEST(worker_core, farewell_follows_the_last_ack_and_the_end_can_then_be_pulled) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.clock(1, out), errc::ok);
  out.clear();
  ASSERT_EQ(core.finish(2, out), errc::ok);
  EXPECT_TRUE(out.sends.empty()) << "clock 0 is in flight";
  ack_all(core, 0, out);
  ASSERT_EQ(out.sends.size(), 2u) << "one farewell per shard";
  EXPECT_EQ(out.sends[0].kind, kind::finished);
  core.on_finish_ack(1, reply_code::ok, out);
  EXPECT_TRUE(out.dones.empty());
  core.on_finish_ack(0, reply_code::ok, out);
  ASSERT_EQ(out.dones.size(), 1u);
  out.clear();
  EXPECT_EQ(core.push(3, 3, out), errc::out_of_order);
  EXPECT_EQ(core.clock(4, out), errc::out_of_order);
  EXPECT_EQ(core.pull(3, 5, extent::as_policy, out), errc::out_of_order);
  ASSERT_EQ(core.pull(3, 6, extent::to_the_end, out), errc::ok);
  EXPECT_EQ(out.sends[0].clock, clock_vector::infinity);
  EXPECT_TRUE(out.sends[0].is_final);
}

}  // namespace
}  // namespace tidegate::policies
