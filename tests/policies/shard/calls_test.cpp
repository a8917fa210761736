// Calls of functions: pulls whose answer is computed, and that end no lease.
#include "runtime/base/frame_header.hpp"
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

TEST(shard_calls, a_call_is_answered_as_a_pull_and_its_payload_released_once) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  EXPECT_EQ(core.check_call(tag(0, 1), runtime::call_payload_bytes), reply_code::ok);
  core.call(tag(0, 1), 11, out);
  EXPECT_TRUE(all<reply>(out).empty()) << "parked";
  EXPECT_EQ(core.check_call(tag(0, 1), runtime::call_payload_bytes),
            reply_code::pull_under_way);
  auto again = tag(0, 1);
  ++again.request;
  out.clear();
  core.call(again, 12, out);  // resent: the later one counts
  ASSERT_EQ(all<release>(out).size(), 1u);
  EXPECT_EQ(all<release>(out)[0].payload, 11u);
  core.call(tag(0, 1), 13, out);  // late
  EXPECT_EQ(all<release>(out).back().payload, 13u);
  EXPECT_TRUE(all<reply>(out).empty());
  out.clear();
  core.push(tag(1, 0), 2, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].call, 12u);
  EXPECT_EQ(all<reply>(out)[0].tag, again);
  EXPECT_EQ(all<reply>(out)[0].where.version, 1u);
  EXPECT_EQ(all<release>(out).back().payload, 12u) << "after the reply";
  EXPECT_FALSE(core.sent(0, 0, all<reply>(out)[0].where.version_buffer));
}

TEST(shard_calls, a_call_that_is_not_right_is_refused) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  const auto check = [&](const frame_tag& of, std::uint64_t bytes) {
    return core.check_call(of, bytes);
  };
  EXPECT_EQ(check(tag(0, 0), 12), reply_code::wrong_size);
  EXPECT_EQ(check(tag(0, 0, 1), runtime::call_payload_bytes), reply_code::unknown_chunk);
  EXPECT_EQ(check(tag(7, 0), runtime::call_payload_bytes), reply_code::unknown_worker);
  shard_effects out;
  core.pull(tag(0, 1), false, out);  // parked
  core.call(tag(0, 2), 5, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].code, reply_code::pull_under_way);
  EXPECT_EQ(all<reply>(out)[0].call, no_payload);
  EXPECT_EQ(all<release>(out).size(), 1u);
}

TEST(shard_calls, a_call_whose_worker_is_gone_is_released) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.call(tag(0, 1), 5, out);
  EXPECT_FALSE(core.has_forgotten_calls());
  EXPECT_EQ(core.admin().admit_worker(job, 0, 2), reply_code::ok);
  EXPECT_TRUE(core.has_forgotten_calls());
  core.release_forgotten_calls(out);
  EXPECT_FALSE(core.has_forgotten_calls());
  ASSERT_EQ(all<release>(out).size(), 1u);
  EXPECT_EQ(all<release>(out)[0].payload, 5u);
  out.clear();
  core.call(tag(1, 1), 6, out);
  core.admin().close_job(job, out);
  EXPECT_EQ(all<release>(out).back().payload, 6u);
  EXPECT_EQ(all<reply>(out).back().code, reply_code::job_ended);
}

// What a worker reads in place is not written before its push, whatever it calls.
TEST(shard_calls, a_call_leaves_the_lease_as_it_is) {
  auto core = make_core({consistency_kind::async, 0}, 2);
  shard_effects out;
  core.doorbell(tag(0, 0), {.push = false, .skip = false, .pull = true, .is_final = false}, {},
                out);
  const auto leased = all<shard_effects::doorbell_reply>(out)[0].where.version_buffer;
  out.clear();
  auto call = tag(0, 0);
  call.request += 1;
  core.call(call, 5, out);
  EXPECT_EQ(all<reply>(out)[0].where.version_buffer, leased);
  core.sent(0, 0, leased);
  core.push(tag(1, 0), 9, out);
  ASSERT_EQ(all<apply>(out).size(), 1u);
  EXPECT_NE(all<apply>(out)[0].to, leased);
}

}  // namespace
}  // namespace tidegate::policies
