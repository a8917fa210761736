// Pulls ahead of their use, which nobody waits for.
#include "tests/policies/worker/fixture.hpp"

namespace tidegate::policies {
namespace {

using asked = worker_core::answer_kind;

errc pull_ahead(worker_core& core, operation op, worker_effects& out) {
  return core.pull(3, op, extent::as_policy, out, std::nullopt, asked::results_ahead);
}

void answer(worker_core& core, std::uint32_t chunk, std::uint64_t request, worker_effects& out,
            reply_code code = reply_code::ok) {
  if (code == reply_code::ok) {
    ASSERT_TRUE(core.expects_reply(3, chunk, request));
    core.begin_reply(3, chunk);
  }
  core.on_reply(3, chunk, {.request = request, .code = code}, out);
}

TEST(pull_ahead, holds_up_neither_a_push_nor_the_clock) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(pull_ahead(core, 1, out), errc::ok);
  ASSERT_EQ(out.sends.size(), 2U);
  EXPECT_EQ(out.sends[0].kind, kind::call);
  const auto request = out.sends[0].request;
  ASSERT_EQ(core.push(3, 2, out), errc::ok);
  ASSERT_EQ(core.clock(3, out), errc::ok);
  out.clear();
  answer(core, 0, request, out);
  answer(core, 1, request, out);
  ASSERT_EQ(out.dones.size(), 1U);
  EXPECT_EQ(out.dones[0].op, 1U);
}

TEST(pull_ahead, is_over_when_the_next_pull_begins) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(pull_ahead(core, 1, out), errc::ok);
  const auto ahead = out.sends[0].request;
  ASSERT_EQ(core.clock(2, out), errc::ok);
  out.clear();
  const std::uint32_t chunks[] = {1};
  ASSERT_EQ(core.pull(3, 4, extent::as_policy, out, chunks, asked::results), errc::ok);
  EXPECT_TRUE(out.sends.empty()) << "it waits";
  EXPECT_EQ(core.push(3, 5, out), errc::out_of_order) << "a push waits for a pull";
  EXPECT_EQ(core.clock(5, out), errc::out_of_order);
  EXPECT_EQ(core.finish(5, out), errc::out_of_order);
  EXPECT_EQ(core.pull(3, 5, extent::as_policy, out), errc::out_of_order);
  EXPECT_EQ(pull_ahead(core, 5, out), errc::out_of_order);
  answer(core, 0, ahead, out);
  answer(core, 1, ahead, out);
  ASSERT_EQ(out.dones.size(), 1U);
  ASSERT_EQ(out.sends.size(), 1U);
  EXPECT_EQ(out.sends[0].chunk, 1U);
  EXPECT_EQ(out.sends[0].clock, 1U);
  EXPECT_GT(out.sends[0].request, ahead);
  answer(core, 1, out.sends[0].request, out);
  ASSERT_EQ(out.dones.size(), 2U);
  EXPECT_EQ(out.dones[1].op, 4U);
  EXPECT_EQ(core.push(3, 6, out), errc::ok);
}

TEST(pull_ahead, ends_well_though_a_shard_refuses_it) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(pull_ahead(core, 1, out), errc::ok);
  const auto request = out.sends[0].request;
  answer(core, 0, request, out, reply_code::too_late);
  answer(core, 1, request, out);
  ASSERT_EQ(out.dones.size(), 1U);
  EXPECT_EQ(out.dones[0].code, reply_code::ok);
}

TEST(pull_ahead, is_waited_for_by_the_farewell) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(pull_ahead(core, 1, out), errc::ok);
  const auto request = out.sends[0].request;
  out.clear();
  ASSERT_EQ(core.finish(2, out), errc::ok);
  EXPECT_TRUE(out.sends.empty());
  answer(core, 0, request, out);
  answer(core, 1, request, out);
  ASSERT_EQ(out.sends.size(), 2U);
  EXPECT_EQ(out.sends[0].kind, kind::finished);
}

TEST(pull_ahead, ends_with_the_pull_that_waits_when_a_push_is_refused) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(pull_ahead(core, 1, out), errc::ok);
  ASSERT_EQ(core.push(4, 2, out), errc::ok);
  ASSERT_EQ(core.clock(3, out), errc::ok);
  ASSERT_EQ(core.pull(3, 4, extent::as_policy, out), errc::ok);
  out.clear();
  core.on_ack(4, 0, 0, reply_code::wrong_size, out);
  std::vector<operation> ended;
  for (const auto& done : out.dones) ended.push_back(done.op);
  EXPECT_EQ(ended, (std::vector<operation>{1, 4, 2}));
}

// What was refused for its form is sent once more, under a new number, and nothing else is.
TEST(a_call_of_a_chunk, is_repeated_by_itself) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.pull(3, 1, extent::as_policy, out, std::nullopt, asked::results), errc::ok);
  const auto request = out.sends[0].request;
  answer(core, 0, request, out);
  out.clear();
  core.resend_unanswered({.table = 3, .chunk = 0}, out);
  core.resend_unanswered({.table = 3, .chunk = 9}, out);
  core.resend_unanswered({.table = 4, .chunk = 1}, out);
  EXPECT_TRUE(out.sends.empty()) << "it is answered, or nobody asked";
  core.resend_unanswered({.table = 3, .chunk = 1}, out);
  ASSERT_EQ(out.sends.size(), 1U);
  EXPECT_EQ(out.sends[0].kind, kind::call);
  EXPECT_EQ(out.sends[0].chunk, 1U);
  EXPECT_GT(out.sends[0].request, request);
  EXPECT_FALSE(core.expects_reply(3, 1, request));
  answer(core, 1, out.sends[0].request, out);
  ASSERT_EQ(out.dones.size(), 1U);
}

TEST(a_push_of_a_chunk, is_repeated_by_itself) {
  auto core = make_core();
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out), errc::ok);
  core.on_ack(3, 0, 0, reply_code::ok, out);
  out.clear();
  core.resend_unanswered({.table = 3, .chunk = 0, .clock = 0}, out);
  core.resend_unanswered({.table = 3, .chunk = 1, .clock = 1}, out);
  core.resend_unanswered({.table = 3, .chunk = 9, .clock = 0}, out);
  EXPECT_TRUE(out.sends.empty()) << "it is acknowledged, or nobody pushed";
  core.resend_unanswered({.table = 3, .chunk = 1, .clock = 0}, out);
  ASSERT_EQ(out.sends.size(), 1U);
  EXPECT_EQ(out.sends[0].kind, kind::push);
  EXPECT_EQ(out.sends[0].chunk, 1U);
  EXPECT_EQ(out.sends[0].clock, 0U);
  core.on_ack(3, 1, 0, reply_code::ok, out);
  EXPECT_EQ(out.dones.size(), 1U);
}

}  // namespace
}  // namespace tidegate::policies
