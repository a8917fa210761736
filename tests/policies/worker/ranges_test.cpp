// Pushes and pulls of some chunks of a table: the others are skipped, or not asked for.
#include <string>

#include "tests/policies/worker/fixture.hpp"

namespace tidegate::policies {
namespace {

// Table 3: eight chunks of ten elements, in turn on shards 0 and 1, so that each has four.
worker_core make_wide(bool attached) {
  worker_core core(2);
  std::vector<chunk_place> places;
  for (std::uint32_t chunk = 0; chunk < 8; ++chunk)
    places.push_back(
        {.chunk = chunk, .shard = chunk % 2, .first = 10ULL * chunk, .elements = 10});
  core.add_table(3, places);
  if (attached) {
    core.attach(3, 0);
    core.attach(3, 1);
  }
  return core;
}

// "push 0:2" is a frame about chunk 2 to shard 0, "push 0:[1,+2)" a doorbell for two chunks
// there from index 1 on, "push 0:all" for all.
std::string lines(const worker_effects& out) {
  std::string text;
  for (const auto& send : out.sends) {
    const bool rings = send.kind == kind::doorbell;
    const bool pushes = rings ? send.pushes : send.kind == kind::push;
    const bool skips = rings ? send.skips : send.kind == kind::skip;
    text += (text.empty() ? "" : ", ") + std::string(pushes ? "push" : skips ? "skip" : "pull");
    text += " " + std::to_string(send.shard) + ":";
    if (!rings)
      text += std::to_string(send.chunk);
    else if (send.count == 0)
      text += "all";
    else
      text += "[" + std::to_string(send.chunk) + ",+" + std::to_string(send.count) + ")";
  }
  return text;
}

using list = std::vector<std::uint32_t>;

TEST(worker_ranges, chunks_that_are_not_touched_are_skipped) {
  auto core = make_wide(false);
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out, 0, 1.0F, list{0, 2, 3}), errc::ok);
  EXPECT_EQ(lines(out),
            "push 0:0, push 0:2, skip 0:4, skip 0:6, skip 1:1, push 1:3, skip 1:5, skip 1:7");
  for (std::uint32_t chunk = 0; chunk < 7; ++chunk)
    core.on_ack(3, chunk, 0, reply_code::ok, out);
  EXPECT_TRUE(out.dones.empty()) << "a skip is waited for as a push is";
  core.on_ack(3, 7, 0, reply_code::ok, out);
  ASSERT_EQ(out.dones.size(), 1U);
  EXPECT_EQ(core.push(3, 2, out), errc::out_of_order) << "the table is pushed in this clock";
}

TEST(worker_ranges, a_doorbell_speaks_for_a_run_of_chunks) {
  auto core = make_wide(true);
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out, 1, 0.5F, list{2, 3, 4}), errc::ok);
  EXPECT_EQ(lines(out),
            "skip 0:[0,+1), push 0:[1,+2), skip 0:[3,+1), "
            "skip 1:[0,+1), push 1:[1,+1), skip 1:[2,+2)");
  for (const auto& send : out.sends) EXPECT_EQ(send.half, 1U);
  out.clear();
  core.clock(2, out);
  ASSERT_EQ(core.push(3, 3, out, 0, 1.0F, list{0, 2, 4, 6}), errc::ok);
  EXPECT_EQ(lines(out), "push 0:all, skip 1:all");
}

TEST(worker_ranges, of_nothing_skip_all_and_all_are_a_push) {
  auto core = make_wide(true);
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out, 0, 1.0F, list{}), errc::ok);
  EXPECT_EQ(lines(out), "skip 0:all, skip 1:all");
  out.clear();
  core.clock(2, out);
  ASSERT_EQ(core.push(3, 3, out, 0, 1.0F, list{0, 1, 2, 3, 4, 5, 6, 7}), errc::ok);
  EXPECT_EQ(lines(out), "push 0:all, push 1:all");
}

TEST(worker_ranges, what_has_no_answer_is_sent_again_run_by_run) {
  auto core = make_wide(true);
  worker_effects out;
  ASSERT_EQ(core.push(3, 1, out, 0, 1.0F, list{2, 3, 4}), errc::ok);
  core.on_doorbell_ack({.table = 3, .shard = 0, .first = 0, .count = 2}, 0, reply_code::ok,
                       out);
  out.clear();
  core.resend(0, out);
  EXPECT_EQ(lines(out), "push 0:[1,+2), skip 0:[3,+1)")
      << "the run in part, and what has no answer at all";
  core.shard_moved(0);
  out.clear();
  core.retransmit(0, out);
  EXPECT_EQ(lines(out), "push 0:4, skip 0:6") << "now in frames";
}

TEST(worker_ranges, a_pull_asks_for_its_chunks_alone) {
  for (const bool attached : {false, true}) {
    auto core = make_wide(attached);
    worker_effects out;
    const auto answer = [&](std::uint32_t chunk, std::uint64_t request) {
      const worker_core::reply reply{
          .request = request, .code = reply_code::ok, .min_clock = 0, .version_buffer = 1};
      if (attached)
        return core.on_doorbell_reply(
            {.table = 3, .shard = chunk % 2, .first = chunk / 2, .count = 1}, reply, out);
      core.begin_reply(3, chunk);
      core.on_reply(3, chunk, reply, out);
    };
    ASSERT_EQ(core.pull(3, 1, extent::as_policy, out, list{1, 2, 4}), errc::ok);
    EXPECT_EQ(lines(out),
              attached ? "pull 0:[1,+2), pull 1:[0,+1)" : "pull 0:2, pull 0:4, pull 1:1");
    EXPECT_FALSE(core.expects_reply(3, 0, 1)) << "nobody wants it";
    if (attached) answer(0, 1);  // an answer to nothing
    answer(2, 1);
    answer(4, 1);
    EXPECT_TRUE(out.dones.empty());
    out.clear();
    core.resend(1, out);
    EXPECT_EQ(lines(out), attached ? "pull 1:[0,+1)" : "pull 1:1");
    answer(1, 2);
    ASSERT_EQ(out.dones.size(), 1U);
    EXPECT_EQ(out.dones[0].op, 1U);
    for (std::uint32_t chunk = 0; chunk < 8; ++chunk)
      EXPECT_EQ(core.tables().sources_of(3)[chunk].is_current,
                chunk == 1 || chunk == 2 || chunk == 4);
    // The next one, of all, has all.
    out.clear();
    ASSERT_EQ(core.pull(3, 2, extent::as_policy, out), errc::ok);
    EXPECT_EQ(out.sends.size(), attached ? 2U : 8U);
  }
}

TEST(worker_ranges, a_pull_of_nothing_ends_at_once) {
  auto core = make_wide(true);
  worker_effects out;
  ASSERT_EQ(core.pull(3, 1, extent::as_policy, out, list{}), errc::ok);
  EXPECT_TRUE(out.sends.empty());
  ASSERT_EQ(out.dones.size(), 1U);
  EXPECT_EQ(core.clock(2, out), errc::ok) << "no pull is under way";
}

}  // namespace
}  // namespace tidegate::policies
