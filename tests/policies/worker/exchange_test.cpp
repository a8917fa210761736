// Parts of tables in place, and exchanges.
#include "tests/policies/worker/fixture.hpp"

namespace tidegate::policies {
namespace {

// The same tables; table 3's part on shard 0 and all of table 4 in place.
worker_core make_attached() {
  auto core = make_core();
  core.attach(3, 0);
  core.attach(4, 1);
  return core;
}

TEST(worker_exchange, a_part_in_place_is_woken_for_and_the_rest_is_sent) {
  auto core = make_attached();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  ASSERT_EQ(out.sends.size(), 2u);
  EXPECT_EQ(out.sends[0].kind, kind::doorbell);
  EXPECT_TRUE(out.sends[0].pushes);
  EXPECT_EQ(out.sends[0].shard, 0u);
  EXPECT_EQ(out.sends[1].kind, kind::push);
  core.on_doorbell_ack({.table = 3, .shard = 0, .first = 0, .count = 1}, 0, reply_code::ok,
                       out);
  core.on_doorbell_ack({.table = 3, .shard = 0, .first = 0, .count = 1}, 0, reply_code::ok,
                       out);  // duplicated on the way
  EXPECT_TRUE(out.dones.empty());
  core.on_ack(3, 1, 0, reply_code::ok, out);
  ASSERT_EQ(out.dones.size(), 1u);
}

TEST(worker_exchange, an_exchange_is_one_operation_and_ends_with_its_pulls) {
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
  core.on_doorbell_reply(
      {.table = 3, .shard = 0, .first = 0, .count = 1},
      {.request = 1, .code = reply_code::ok, .min_clock = 1, .version_buffer = 2}, out);
  EXPECT_EQ(core.tables().sources_of(3)[0].version_buffer, 2u);
  EXPECT_TRUE(out.dones.empty());
  core.begin_reply(3, 1);
  core.on_reply(
      3, 1, {.request = 1, .code = reply_code::ok, .min_clock = 1, .version_buffer = 0}, out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].op, 7u);
  EXPECT_EQ(out.dones[0].code, reply_code::ok);
  EXPECT_FALSE(core.is_acknowledged(3, 0)) << "its gradient may still be read";
  EXPECT_EQ(core.pushes_under_way(), 1u);
  EXPECT_EQ(core.push(3, 8, out), errc::ok) << "the next clock's lies elsewhere";
  core.on_doorbell_ack({.table = 3, .shard = 0, .first = 0, .count = 1}, 0, reply_code::ok,
                       out);
  core.on_ack(3, 1, 0, reply_code::ok, out);
  EXPECT_TRUE(core.is_acknowledged(3, 0));
  EXPECT_EQ(out.dones.size(), 1u) << "told once";
}

TEST(worker_exchange,
     with_one_clock_in_flight_an_exchange_waits_for_the_acknowledgements_before) {
  auto core = make_core();
  core.set_one_clock_in_flight();
  worker_effects out;
  const std::uint32_t three[] = {3};
  ASSERT_EQ(core.exchange(three, 1, out, 0), errc::ok);
  for (const auto chunk : {0U, 1U}) {
    core.begin_reply(3, chunk);
    core.on_reply(3, chunk,
                  {.request = 1, .code = reply_code::ok, .min_clock = 1, .version_buffer = 0},
                  out);
  }
  ASSERT_EQ(out.dones.size(), 1u);
  out.clear();
  ASSERT_EQ(core.exchange(three, 2, out, 1), errc::ok);
  EXPECT_TRUE(out.sends.empty());
  core.retransmit(0, out);
  for (const auto& one : out.sends) EXPECT_EQ(one.clock, 0u) << "only what was sent";
  out.clear();
  core.on_ack(3, 0, 0, reply_code::ok, out);
  core.on_ack(4, 0, 0, reply_code::ok, out);
  EXPECT_TRUE(out.sends.empty());
  core.on_ack(3, 1, 0, reply_code::ok, out);
  ASSERT_EQ(out.sends.size(), 3u) << "two pushes, and the other table's skip";
  std::size_t pulls = 0;
  for (const auto& one : out.sends) {
    EXPECT_EQ(one.clock, 1u);
    pulls += one.pulls;
    EXPECT_EQ(one.half, one.kind == kind::push ? 1u : 0u);
  }
  EXPECT_EQ(pulls, 2u);
}

TEST(worker_exchange,
     with_one_clock_in_flight_a_clock_may_begin_when_the_pushes_before_are_sent) {
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

TEST(worker_exchange, an_exchange_of_everything_in_place_rings_once_per_shard) {
  auto core = make_attached();
  core.attach(3, 1);
  worker_effects out;
  const std::vector<std::uint32_t> both{3, 4};
  ASSERT_EQ(core.exchange(both, 7, out), errc::ok);
  ASSERT_EQ(out.sends.size(), 2u);
  for (const auto& send : out.sends) {
    EXPECT_EQ(send.kind, kind::doorbell);
    EXPECT_EQ(send.table, all_tables);
    EXPECT_EQ(send.clock, 0u) << "of the push";
    EXPECT_TRUE(send.pushes && send.pulls);
  }
}

TEST(worker_exchange, an_exchange_that_a_shard_refuses_ends_with_its_reason) {
  auto core = make_attached();
  worker_effects out;
  const std::vector<std::uint32_t> three{3};
  ASSERT_EQ(core.exchange(three, 7, out), errc::ok);
  core.on_doorbell_ack({.table = 3, .shard = 0, .first = 0, .count = 0}, 0,
                       reply_code::job_ended, out);
  core.on_ack(3, 1, 0, reply_code::ok, out);
  core.on_doorbell_reply(
      {.table = 3, .shard = 0, .first = 0, .count = 0},
      {.request = 1, .code = reply_code::job_ended, .min_clock = 0, .version_buffer = 0}, out);
  core.on_reply(
      3, 1, {.request = 1, .code = reply_code::job_ended, .min_clock = 0, .version_buffer = 0},
      out);
  ASSERT_EQ(out.dones.size(), 1u);
  EXPECT_EQ(out.dones[0].code, reply_code::job_ended);
  EXPECT_EQ(core.pull(3, 8, extent::as_policy, out), errc::cancelled);
}

TEST(worker_exchange, an_acknowledgement_of_all_tables_is_of_those_in_place_on_that_shard) {
  auto core = make_attached();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  ASSERT_EQ(core.push(4, 2, out), errc::ok);
  core.on_doorbell_ack({.table = all_tables, .shard = 1, .first = 0, .count = 0}, 0,
                       reply_code::ok, out);
  ASSERT_EQ(out.dones.size(), 1u) << "table 4; of table 3 no part is in place there";
  EXPECT_EQ(out.dones[0].op, 2u);
  core.on_doorbell_ack({.table = all_tables, .shard = 0, .first = 0, .count = 0}, 0,
                       reply_code::ok, out);
  EXPECT_EQ(out.dones.size(), 1u) << "table 3's frame is not acknowledged";
  core.on_ack(3, 1, 0, reply_code::ok, out);
  EXPECT_EQ(out.dones.size(), 2u);
}

TEST(worker_exchange, a_run_beyond_the_part_is_ignored) {
  auto core = make_attached();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  core.on_doorbell_ack({.table = 3, .shard = 0, .first = 0, .count = 2}, 0, reply_code::ok,
                       out);
  core.on_doorbell_ack({.table = 3, .shard = 0, .first = 0xffff'ffff, .count = 1}, 0,
                       reply_code::ok, out);
  core.on_doorbell_ack({.table = 3, .shard = 7, .first = 0, .count = 1}, 0, reply_code::ok,
                       out);
  core.on_doorbell_ack({.table = 9, .shard = 0, .first = 0, .count = 1}, 0, reply_code::ok,
                       out);
  core.on_ack(3, 1, 0, reply_code::ok, out);
  EXPECT_TRUE(out.dones.empty());
}

// What has waited until the worker's state is copied may have been answered meanwhile, of what
// the process before has sent.
TEST(worker_exchange, of_what_is_sent_late_what_is_answered_is_left_out) {
  auto core = make_core();
  worker_effects out;
  const std::vector<std::uint32_t> three{3};
  ASSERT_EQ(core.exchange(three, 7, out), errc::ok);
  const auto sends = std::exchange(out.sends, {});
  const auto is_of_use = [&](kind of, std::uint32_t table) {
    for (const auto& send : sends)
      if (send.kind == of && send.table == table) return core.tables().is_of_use(send);
    ADD_FAILURE() << "no such send";
    return false;
  };
  EXPECT_TRUE(is_of_use(kind::push, 3));
  EXPECT_TRUE(is_of_use(kind::skip, 4));
  ack_all(core, 0, out);
  EXPECT_TRUE(is_of_use(kind::push, 3)) << "it asks for the parameters, too";
  EXPECT_FALSE(is_of_use(kind::skip, 4));
  for (const std::uint32_t chunk : {0, 1}) {
    const auto request = sends.back().request;
    core.begin_reply(3, chunk);
    core.on_reply(3, chunk, {.request = request, .code = reply_code::ok, .min_clock = 1}, out);
  }
  ASSERT_EQ(out.dones.size(), 1U);
  EXPECT_FALSE(is_of_use(kind::push, 3));
}

}  // namespace
}  // namespace tidegate::policies
