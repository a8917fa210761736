#include "policies/worker_core.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "policies/clock_vector.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;
using kind = worker_effects::send_kind;
using extent = worker_core::extent;

// Table 3: two chunks, on shards 0 and 1. Table 4: one chunk, on shard 1.
worker_core make_core() {
  worker_core core(2);
  core.add_table(3, {{0, 0, 0, 8}, {1, 1, 8, 4}});
  core.add_table(4, {{0, 1, 0, 2}});
  return core;
}

void ack_all(worker_core& core, std::uint64_t clock, worker_effects& out) {
  core.on_ack(3, 0, clock, refusal::none, out);
  core.on_ack(3, 1, clock, refusal::none, out);
  core.on_ack(4, 0, clock, refusal::none, out);
}

TEST(worker_core, a_push_goes_chunk_by_chunk_to_its_shards_and_ends_with_the_last_ack) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(out.sends[1].kind, kind::push);
  EXPECT_EQ(out.sends[1].shard, 1u);
  EXPECT_EQ(out.sends[1].first, 8u);
  EXPECT_EQ(out.sends[1].elements, 4u);
  core.on_ack(3, 1, 0, refusal::none, out);
  core.on_ack(3, 1, 0, refusal::none, out);  // duplicated on the way
  EXPECT_TRUE(out.dones.empty());
  core.on_ack(3, 0, 0, refusal::none, out);
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

TEST(worker_core, a_refused_push_fails_it_and_what_waits) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.push(4, 1, out), errc::ok);
  core.on_ack(4, 0, 0, refusal::no_memory, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].code, refusal::no_memory);
  out.clear();
  EXPECT_EQ(core.clock(2, out), errc::cancelled);
  EXPECT_EQ(core.push(3, 3, out), errc::cancelled);
  EXPECT_EQ(core.pull(3, 4, extent::as_policy, out), errc::cancelled);
  EXPECT_EQ(core.finish(5, out), errc::cancelled);
  EXPECT_EQ(core.failure(), refusal::no_memory);
  EXPECT_TRUE(out.sends.empty());
}

TEST(worker_core, a_refusal_ends_who_waits_for_credits) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.clock(1, out), errc::ok);
  ASSERT_EQ(core.clock(2, out), errc::ok);
  ASSERT_EQ(core.room(3, out), errc::ok);
  out.clear();
  core.on_ack(4, 0, 0, refusal::job_ended, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].op, 3u);
  EXPECT_EQ(out.dones[0].code, refusal::job_ended);
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
  core.on_ack(3, 0, 1, refusal::no_memory, out);
  ASSERT_EQ(out.dones.size(), 2u);
  for (const auto& one : out.dones) EXPECT_EQ(one.code, refusal::no_memory);
  EXPECT_EQ(out.dones[0].op + out.dones[1].op, 5u) << "the push, with one answer, and the pull";
  out.clear();
  EXPECT_FALSE(core.expects_reply(4, 0, 1));
  core.on_reply(4, 0, {1, refusal::none, 1, 0}, out);
  core.on_ack(3, 1, 1, refusal::no_memory, out);
  core.on_ack(3, 1, 0, refusal::job_ended, out);
  ack_all(core, 0, out);
  EXPECT_TRUE(out.dones.empty() && out.sends.empty()) << "late answers are nobody's";
  EXPECT_EQ(core.failure(), refusal::no_memory);
}

TEST(worker_core, a_refused_farewell_ends_finish_once) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.finish(1, out), errc::ok);
  core.on_finish_ack(0, refusal::job_ended, out);
  core.on_finish_ack(1, refusal::job_ended, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].code, refusal::job_ended);
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
  core.on_reply(3, 0, {1, refusal::none, 4, 0}, out);
  EXPECT_FALSE(core.expects_reply(3, 0, 1)) << "nor a late one";
  core.on_reply(3, 0, {1, refusal::none, 0, 0}, out);
  EXPECT_TRUE(out.dones.empty());
  core.begin_reply(3, 1);
  core.on_reply(3, 1, {1, refusal::none, 1, 0}, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(core.staleness_max(), 3u);
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
  core.on_finish_ack(1, refusal::none, out);
  EXPECT_TRUE(out.dones.empty());
  core.on_finish_ack(0, refusal::none, out);
  ASSERT_EQ(out.dones.size(), 1u);
  out.clear();
  EXPECT_EQ(core.push(3, 3, out), errc::out_of_order);
  EXPECT_EQ(core.clock(4, out), errc::out_of_order);
  EXPECT_EQ(core.pull(3, 5, extent::as_policy, out), errc::out_of_order);
  ASSERT_EQ(core.pull(3, 6, extent::to_the_end, out), errc::ok);
  EXPECT_EQ(out.sends[0].clock, clock_vector::infinity);
  EXPECT_TRUE(out.sends[0].everything);
}

// The same tables; table 3's part on shard 0 and all of table 4 in place.
worker_core make_attached() {
  auto core = make_core();
  core.attach(3, 0);
  core.attach(4, 1);
  return core;
}

TEST(worker_core, a_part_in_place_is_rung_for_and_the_rest_is_sent) {
  auto core = make_attached();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(out.sends[0].kind, kind::ring);
  EXPECT_TRUE(out.sends[0].pushes);
  EXPECT_EQ(out.sends[0].shard, 0u);
  EXPECT_EQ(out.sends[1].kind, kind::push);
  core.on_ring_ack({3, 0, 0, 1}, 0, refusal::none, out);
  core.on_ring_ack({3, 0, 0, 1}, 0, refusal::none, out);  // duplicated on the way
  EXPECT_TRUE(out.dones.empty());
  core.on_ack(3, 1, 0, refusal::none, out);
  ASSERT_EQ(out.dones.size(), 1u);
}

TEST(worker_core, an_exchange_is_one_operation_and_ends_with_its_pulls) {
  auto core = make_attached();
  worker_effects out;
  const std::vector<std::uint32_t> three{3};
  ASSERT_EQ(core.exchange(three, 7, out), errc::ok);
  EXPECT_EQ(core.now(), 1u);
  std::size_t pulls = 0, skips = 0;
  for (const auto& send : out.sends) pulls += send.pulls, skips += send.skips;
  EXPECT_EQ(pulls, 2u) << "a ring and a push, both ask for the next clock";
  EXPECT_EQ(skips, 1u) << "of the other table";
  EXPECT_EQ(core.push(4, 8, out), errc::out_of_order);
  EXPECT_EQ(core.clock(8, out), errc::out_of_order);
  core.on_ring_reply({3, 0, 0, 1}, {1, refusal::none, 1, 2}, out);
  EXPECT_EQ(core.sources_of(3)[0].plane, 2u);
  EXPECT_TRUE(out.dones.empty());
  core.begin_reply(3, 1);
  core.on_reply(3, 1, {1, refusal::none, 1, 0}, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].op, 7u);
  EXPECT_EQ(out.dones[0].code, refusal::none);
  EXPECT_FALSE(core.is_acknowledged(3, 0)) << "its gradient may still be read";
  EXPECT_EQ(core.pushes_under_way(), 1u);
  EXPECT_EQ(core.push(3, 8, out), errc::ok) << "the next clock's lies elsewhere";
  core.on_ring_ack({3, 0, 0, 1}, 0, refusal::none, out);
  core.on_ack(3, 1, 0, refusal::none, out);
  EXPECT_TRUE(core.is_acknowledged(3, 0));
  EXPECT_EQ(out.dones.size(), 1u) << "told once";
}

TEST(worker_core, with_one_clock_in_flight_an_exchange_waits_for_the_acknowledgements_before) {
  auto core = make_core();
  core.set_one_clock_in_flight();
  worker_effects out;
  const std::uint32_t three[] = {3};
  ASSERT_EQ(core.exchange(three, 1, out, 0), errc::ok);
  for (const auto chunk : {0U, 1U}) {
    core.begin_reply(3, chunk);
    core.on_reply(3, chunk, {1, refusal::none, 1, 0}, out);
  }
  ASSERT_EQ(out.dones.size(), 1u);
  out.clear();
  ASSERT_EQ(core.exchange(three, 2, out, 1), errc::ok);
  EXPECT_TRUE(out.sends.empty());
  core.again(0, out);
  for (const auto& one : out.sends) EXPECT_EQ(one.clock, 0u) << "only what was sent";
  out.clear();
  core.on_ack(3, 0, 0, refusal::none, out);
  core.on_ack(4, 0, 0, refusal::none, out);
  EXPECT_TRUE(out.sends.empty());
  core.on_ack(3, 1, 0, refusal::none, out);
  ASSERT_EQ(out.sends.size(), 3u) << "two pushes, and the other table's skip";
  std::size_t pulls = 0;
  for (const auto& one : out.sends) {
    EXPECT_EQ(one.clock, 1u);
    pulls += one.pulls;
    EXPECT_EQ(one.half, one.kind == kind::push ? 1u : 0u);
  }
  EXPECT_EQ(pulls, 2u);
}

TEST(worker_core, with_one_clock_in_flight_a_clock_may_begin_when_the_pushes_before_are_sent) {
  auto core = make_core();
  core.set_one_clock_in_flight();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out, 0), errc::ok);
  ASSERT_EQ(core.clock(2, out), errc::ok);
  EXPECT_TRUE(core.has_room()) << "clock 1 may compute while clock 0 is under way";
  ASSERT_EQ(core.push(3, 3, out, 1), errc::ok);
  out.clear();
  ASSERT_EQ(core.clock(4, out), errc::ok);
  EXPECT_FALSE(core.has_room());
  EXPECT_EQ(core.pull(4, 5, extent::as_policy, out), errc::out_of_order);
  ASSERT_EQ(core.room(5, out), errc::ok);
  EXPECT_TRUE(out.sends.empty());
  out.clear();
  ack_all(core, 0, out);
  EXPECT_EQ(out.sends.size(), 3u);
  ASSERT_EQ(out.dones.size(), 2u);
  EXPECT_EQ(out.dones[0].op, 1u);
  EXPECT_EQ(out.dones[1].op, 5u);
}

TEST(worker_core, an_exchange_of_everything_in_place_rings_once_per_shard) {
  auto core = make_attached();
  core.attach(3, 1);
  worker_effects out;
  const std::vector<std::uint32_t> both{3, 4};
  ASSERT_EQ(core.exchange(both, 7, out), errc::ok);
  ASSERT_EQ(out.sends.size(), 2u);
  for (const auto& send : out.sends) {
    EXPECT_EQ(send.kind, kind::ring);
    EXPECT_EQ(send.table, all_tables);
    EXPECT_EQ(send.clock, 0u) << "of the push";
    EXPECT_TRUE(send.pushes && send.pulls);
  }
}

TEST(worker_core, an_exchange_that_a_shard_refuses_ends_with_its_reason) {
  auto core = make_attached();
  worker_effects out;
  const std::vector<std::uint32_t> three{3};
  ASSERT_EQ(core.exchange(three, 7, out), errc::ok);
  core.on_ring_ack({3, 0, 0, 0}, 0, refusal::job_ended, out);
  core.on_ack(3, 1, 0, refusal::none, out);
  core.on_ring_reply({3, 0, 0, 0}, {1, refusal::job_ended, 0, 0}, out);
  core.on_reply(3, 1, {1, refusal::job_ended, 0, 0}, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].code, refusal::job_ended);
  EXPECT_EQ(core.pull(3, 8, extent::as_policy, out), errc::cancelled);
}

TEST(worker_core, an_acknowledgement_of_all_tables_is_of_those_in_place_on_that_shard) {
  auto core = make_attached();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  ASSERT_EQ(core.push(4, 2, out), errc::ok);
  core.on_ring_ack({all_tables, 1, 0, 0}, 0, refusal::none, out);
  ASSERT_EQ(out.dones.size(), 1u) << "table 4; of table 3 no part is in place there";
  EXPECT_EQ(out.dones[0].op, 2u);
  core.on_ring_ack({all_tables, 0, 0, 0}, 0, refusal::none, out);
  EXPECT_EQ(out.dones.size(), 1u) << "table 3's frame is not acknowledged";
  core.on_ack(3, 1, 0, refusal::none, out);
  EXPECT_EQ(out.dones.size(), 2u);
}

TEST(worker_core, a_run_beyond_the_part_is_ignored) {
  auto core = make_attached();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  core.on_ring_ack({3, 0, 0, 2}, 0, refusal::none, out);
  core.on_ring_ack({3, 0, 0xffff'ffff, 1}, 0, refusal::none, out);
  core.on_ring_ack({3, 7, 0, 1}, 0, refusal::none, out);
  core.on_ring_ack({9, 0, 0, 1}, 0, refusal::none, out);
  core.on_ack(3, 1, 0, refusal::none, out);
  EXPECT_TRUE(out.dones.empty());
}

}  // namespace
}  // namespace tidegate::policies
