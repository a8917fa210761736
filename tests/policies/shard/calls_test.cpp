// Calls of functions: pulls whose answer is computed, and that end no lease.
#include "runtime/base/frame_header.hpp"
#include "tests/policies/shard/fixture.hpp"

namespace tidegate::policies {
namespace {

using verdict = push_admission::verdict;
constexpr auto bytes = runtime::call_payload_bytes;

frame_tag again(frame_tag of, std::uint64_t times = 1) {
  of.request += times;
  return of;
}

TEST(shard_calls, a_call_is_answered_as_a_pull_and_its_payload_released_once) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  EXPECT_EQ(core.begin_call(tag(0, 1), bytes).kind, verdict::take);
  core.call(tag(0, 1), 11, false, out);
  EXPECT_TRUE(all<reply>(out).empty()) << "parked";
  EXPECT_EQ(core.begin_call(tag(0, 1), bytes).kind, verdict::drop);
  core.call(tag(0, 1), 13, false, out);  // late
  EXPECT_EQ(all<release>(out).back().payload, 13u);
  out.clear();
  core.push(tag(1, 0), 2, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].call, 11u);
  EXPECT_EQ(all<reply>(out)[0].tag, tag(0, 1));
  EXPECT_EQ(all<reply>(out)[0].where.version, 1u);
  EXPECT_EQ(all<release>(out).back().payload, 11u) << "after the reply";
  EXPECT_FALSE(core.sent(0, 0, all<reply>(out)[0].where.version_buffer));
}

// However often it comes, one payload has a place, and the answer has the last number.
TEST(shard_calls, a_call_that_comes_again_is_answered_under_the_new_number) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.push(tag(0, 0), 1, out);
  EXPECT_EQ(core.begin_call(tag(0, 1), bytes).kind, verdict::take);
  EXPECT_EQ(core.begin_call(again(tag(0, 1)), bytes).kind, verdict::drop) << "it is on its way";
  core.call(tag(0, 1), 11, false, out);
  EXPECT_EQ(core.begin_call(again(tag(0, 1), 2), bytes).kind, verdict::drop) << "it is here";
  EXPECT_TRUE(all<release>(out).empty());
  out.clear();
  core.push(tag(1, 0), 2, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].call, 11u);
  EXPECT_EQ(all<reply>(out)[0].tag, again(tag(0, 1), 2));
}

TEST(shard_calls, a_call_that_was_cut_off_has_a_place_again) {
  auto core = make_core({consistency_kind::bsp, 0}, 1);
  EXPECT_EQ(core.begin_call(tag(0, 0), bytes).kind, verdict::take);
  EXPECT_EQ(core.cancel_call(tag(0, 0)), tag(0, 0).request);
  EXPECT_EQ(core.begin_call(again(tag(0, 0)), bytes).kind, verdict::take);
  shard_effects out;
  core.call(again(tag(0, 0)), 3, false, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].tag, again(tag(0, 0)));
}

// A later number of the same call has been dropped, as the first was on its way.
TEST(shard_calls, a_call_that_is_cancelled_has_the_last_number) {
  auto core = make_core({consistency_kind::bsp, 0}, 1);
  EXPECT_EQ(core.begin_call(tag(0, 0), bytes).kind, verdict::take);
  EXPECT_EQ(core.begin_call(again(tag(0, 0)), bytes).kind, verdict::drop);
  EXPECT_EQ(core.cancel_call(tag(0, 0)), again(tag(0, 0)).request);
  EXPECT_EQ(core.begin_call(again(tag(0, 0), 2), bytes).kind, verdict::take);
  EXPECT_EQ(core.cancel_call(again(tag(0, 0), 2)), again(tag(0, 0), 2).request);
}

TEST(shard_calls, a_call_that_is_not_right_is_refused) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  const auto code_of = [&](const frame_tag& of, std::uint64_t size) {
    const auto judged = core.begin_call(of, size);
    EXPECT_EQ(judged.kind, verdict::refuse);
    return judged.code;
  };
  EXPECT_EQ(code_of(tag(0, 0), 12), reply_code::wrong_size);
  EXPECT_EQ(code_of(tag(0, 0, 1), bytes), reply_code::unknown_chunk);
  EXPECT_EQ(code_of(tag(7, 0), bytes), reply_code::unknown_worker);
  shard_effects out;
  core.pull(tag(0, 1), false, out);  // parked
  core.call(tag(0, 2), 5, false, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].code, reply_code::pull_under_way);
  EXPECT_EQ(all<reply>(out)[0].call, no_payload);
  EXPECT_EQ(all<release>(out).size(), 1u);
}

TEST(shard_calls, a_pull_does_not_take_the_place_of_a_parked_call) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.call(tag(0, 1), 5, false, out);
  core.pull(again(tag(0, 1)), false, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].code, reply_code::pull_under_way);
}

// Two replies are under way, and a third would be one too many.
TEST(shard_calls, a_call_that_waits_for_a_reply_hears_of_the_end_of_the_job) {
  auto core = make_core({consistency_kind::bsp, 0}, 1);
  shard_effects out;
  core.call(tag(0, 0), 5, false, out);
  core.call(again(tag(0, 0)), 6, false, out);
  EXPECT_EQ(all<reply>(out).size(), 2u);
  out.clear();
  core.call(again(tag(0, 0), 2), 7, false, out);
  EXPECT_TRUE(all<reply>(out).empty());
  core.admin().close_job(job, out);
  ASSERT_EQ(all<reply>(out).size(), 1u);
  EXPECT_EQ(all<reply>(out)[0].code, reply_code::job_ended);
  EXPECT_EQ(all<release>(out).back().payload, 7u);
}

TEST(shard_calls, a_call_whose_worker_is_gone_is_released) {
  auto core = make_core({consistency_kind::bsp, 0}, 2);
  shard_effects out;
  core.call(tag(0, 1), 5, false, out);
  EXPECT_FALSE(core.has_forgotten_calls());
  EXPECT_EQ(core.admin().admit_worker(job, 0, 2), reply_code::ok);
  EXPECT_TRUE(core.has_forgotten_calls());
  core.release_forgotten_calls(out);
  EXPECT_FALSE(core.has_forgotten_calls());
  ASSERT_EQ(all<release>(out).size(), 1u);
  EXPECT_EQ(all<release>(out)[0].payload, 5u);
  out.clear();
  core.call(tag(1, 1), 6, false, out);
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
  core.call(call, 5, false, out);
  EXPECT_EQ(all<reply>(out)[0].where.version_buffer, leased);
  core.sent(0, 0, leased);
  core.push(tag(1, 0), 9, out);
  ASSERT_EQ(all<apply>(out).size(), 1u);
  EXPECT_NE(all<apply>(out)[0].to, leased);
}

// The push of the clock of the pull ends the lease, also when a call of a later clock came
// first.
TEST(shard_calls, a_call_of_a_later_clock_does_not_prolong_the_lease) {
  auto core = make_core({consistency_kind::async, 0}, 2);
  shard_effects out;
  core.doorbell(tag(0, 0), {.push = false, .skip = false, .pull = true, .is_final = false}, {},
                out);
  core.call(tag(0, 1), 5, false, out);
  core.sent(0, 0, all<reply>(out)[0].where.version_buffer);
  out.clear();
  core.push(tag(0, 0), 9, out);
  core.push(tag(1, 0), 8, out);
  ASSERT_EQ(all<apply>(out).size(), 2u);
  EXPECT_EQ(all<apply>(out)[1].from, all<apply>(out)[1].to) << "nobody reads it";
}

}  // namespace
}  // namespace tidegate::policies
