// The side of a shard that faces workers, when workers go, come back, or are not what they
// should be.
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/actors/node/endpoint_fixture.hpp"

namespace tidegate::tests {
namespace {

using policies::consistency_kind;

constexpr std::uint32_t on_the_way_max = 16;  // policies::send_limits

// Pulls more than may be on the way at a time: two replies of the last chunk wait.
void pull_until_two_wait(peer& member) {
  for (std::uint32_t chunk = 0; chunk < on_the_way_max; ++chunk) {
    member.pull(chunk);
    EXPECT_EQ(member.next(frame_kind::pull_reply).code, 0u);
  }
  member.pull(on_the_way_max);
  member.pull(on_the_way_max);
}

TEST_F(endpoint_test, replies_that_wait_for_a_lost_worker_give_their_version_buffers_back) {
  open_job({consistency_kind::async, 0}, 2);
  ASSERT_TRUE(open_table(on_the_way_max + 1));
  auto lost = join(0);
  auto other = join(1);
  hooks.keep_sent = true;
  pull_until_two_wait(*lost);
  lost->die();
  // An answer that goes nowhere tells the shard; the other's pull is then handled before, its
  // next frame after that is known.
  other->post(lost->header(frame_kind::skip, 0, 9));
  other->pull(0);
  other->next(frame_kind::pull_reply);
  other->attach((on_the_way_max + 1) * elements);
  EXPECT_EQ(other->next(frame_kind::attach_ack).code, 0u);
  other->push(on_the_way_max, 0, std::vector<float>(elements, 1.0F));
  other->next(frame_kind::push_ack);
  other->ring(1, runtime::frame_flag_pull);
  frame_header reply;
  do reply = other->next(frame_kind::doorbell_reply);
  while (reply.chunk + reply.count <= on_the_way_max);
  EXPECT_EQ(reply.version, 1u);
  EXPECT_EQ(reply.version_buffer, 0u)
      << "nobody reads plane 0 of the last chunk: the step is in place";
  const auto posted = hooks.payloads_posted.load();
  hooks.keep_sent = false;
  other->pull(0, 1);
  other->next(frame_kind::pull_reply);
  EXPECT_EQ(hooks.payloads_posted, posted + 1) << "nothing is sent to who is gone";
}

// Links over shared memory learn late of a process that died, and its sends do not end.
TEST_F(endpoint_test, replies_that_wait_for_a_replaced_worker_give_their_version_buffers_back) {
  open_job({consistency_kind::async, 0}, 1);
  ASSERT_TRUE(open_table(on_the_way_max + 1));
  auto before = join(0);
  hooks.keep_sent = true;
  pull_until_two_wait(*before);
  before->pull(on_the_way_max);  // not answered: two answers are on their way
  before->skip(0, 9);
  before->next(frame_kind::push_ack);
  auto after = join(0, 2);
  after->pull(on_the_way_max);
  EXPECT_EQ(after->next(frame_kind::pull_reply).code, 0u);
}

TEST_F(endpoint_test, admitting_a_worker_again_changes_nothing) {
  open_job({consistency_kind::async, 0}, 1);
  ASSERT_TRUE(open_table(on_the_way_max + 1));
  auto worker = join(0);
  hooks.keep_sent = true;
  pull_until_two_wait(*worker);
  EXPECT_EQ(admit(worker->admission()), 0U);
  hooks.keep_sent = false;
  EXPECT_EQ(worker->next(frame_kind::pull_reply).chunk, on_the_way_max);
  EXPECT_EQ(worker->next(frame_kind::pull_reply).chunk, on_the_way_max);
}

TEST_F(endpoint_test, a_table_without_memory_is_unknown_and_may_be_opened_again) {
  open_job({consistency_kind::async, 0}, 1);
  auto worker = join(0);
  EXPECT_FALSE(open_table(2, std::uint64_t{1} << 48)) << "more than a machine has";
  const auto unknown = static_cast<std::uint32_t>(reply_code::unknown_table);
  worker->attach(elements);
  EXPECT_EQ(worker->next(frame_kind::attach_ack).code, unknown);
  worker->pull(0);
  EXPECT_EQ(worker->next(frame_kind::pull_reply).code, unknown);
  worker->skip(1, 0);
  EXPECT_EQ(worker->next(frame_kind::push_ack).code, unknown);
  const std::vector<float> ones(elements, 1.0F);
  worker->push(0, 0, ones);
  EXPECT_EQ(worker->next(frame_kind::push_ack).code, unknown);
  worker->ring(0, runtime::frame_flag_push | runtime::frame_flag_pull);
  worker->post(worker->header(frame_kind::finished, runtime::whole_job, 0));
  EXPECT_EQ(worker->next(frame_kind::push_ack).chunk, runtime::whole_job);

  EXPECT_TRUE(open_table(2));
  auto again = join(0, 2);
  again->pull(1);
  EXPECT_EQ(again->next(frame_kind::pull_reply).code, 0u);
  EXPECT_EQ(again->received(), std::vector<float>(elements, 0.0F));
}

TEST_F(endpoint_test, an_orderly_end_sends_the_replies_that_wait) {
  open_job({consistency_kind::async, 0}, 1);
  ASSERT_TRUE(open_table(on_the_way_max + 1));
  auto worker = join(0);
  hooks.keep_sent = true;
  pull_until_two_wait(*worker);
  worker->skip(0, 9);  // refused at once: the two before it are waiting now
  EXPECT_NE(worker->next(frame_kind::push_ack).code, 0u);
  stop();
  EXPECT_EQ(worker->all_that_came(frame_kind::pull_reply), 2u);
  EXPECT_EQ(worker->received(), std::vector<float>(elements, 0.0F));
}

// Before its payload has a place: the pull that it carries would wait for ever.
TEST_F(endpoint_test, a_push_that_is_refused_refuses_its_pull_too) {
  open_job({consistency_kind::bsp, 0}, 2);
  ASSERT_TRUE(open_table(1));
  auto worker = join(0);
  const std::vector<float> ones(elements, 1.0F);
  const auto push = [&](std::uint64_t clock, std::uint16_t flags) {
    auto header = worker->header(frame_kind::push, 0, clock);
    header.flags = flags;
    header.request = clock;
    worker->post(header, std::as_bytes(std::span(ones)));
  };
  const auto beyond = static_cast<std::uint32_t>(reply_code::beyond_window);
  push(8, 0);
  EXPECT_EQ(worker->next(frame_kind::push_ack).clock, 8u);
  worker->pull(0);
  EXPECT_EQ(worker->next(frame_kind::pull_reply).clock, 0u) << "who did not pull";
  push(9, runtime::frame_flag_pull);
  const auto refused = worker->next(frame_kind::push_ack);
  EXPECT_EQ(refused.clock, 9u);
  EXPECT_EQ(refused.code, beyond);
  const auto reply = worker->next(frame_kind::pull_reply);
  EXPECT_EQ(reply.clock, 10u);
  EXPECT_EQ(reply.request, 9u);
  EXPECT_EQ(reply.code, beyond);
}

bool is_mapped(const std::string& label) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(label) != std::string::npos) return true;
  return false;
}

TEST_F(endpoint_test, a_push_outlives_the_process_that_left_it_in_its_memory) {
  const std::string label = "endpoint-test-earlier";
  open_job({consistency_kind::bsp, 0}, 2);
  ASSERT_TRUE(open_table(1));
  auto other = join(1);
  auto before = join(0);
  const std::vector<float> ones(elements, 1.0F);
  before->push(0, 0, ones);
  other->push(0, 0, ones);
  EXPECT_EQ(before->next(frame_kind::push_ack).clock, 0u);
  other->skip(0, 1);
  before->skip(0, 1);
  EXPECT_EQ(before->next(frame_kind::push_ack).clock, 1u);
  std::ranges::fill(before->attach(elements, label), 10.0F);
  EXPECT_EQ(before->next(frame_kind::attach_ack).code, 0u);
  before->ring(2, runtime::frame_flag_push);
  before->pull(0, 0);  // too late, and answered after the ring
  before->next(frame_kind::pull_reply);
  before->die();
  ASSERT_TRUE(is_mapped(label));

  auto after = join(0, 2);
  after->ring(3, runtime::frame_flag_push);  // of no memory: it has not attached any
  std::ranges::fill(after->attach(elements), 100.0F);
  EXPECT_EQ(after->next(frame_kind::attach_ack).code, 0u);
  EXPECT_TRUE(is_mapped(label)) << "a step will sum out of it";
  other->push(0, 2, ones);
  other->pull(0, 3);
  other->next(frame_kind::pull_reply);
  EXPECT_EQ(other->received(), std::vector<float>(elements, -13.0F));
  EXPECT_FALSE(is_mapped(label)) << "nothing lies there any more";

  after->skip(0, 3);
  other->push(0, 3, ones);
  after->ring(4, runtime::frame_flag_push);
  other->push(0, 4, ones);
  other->pull(0, 5);
  other->next(frame_kind::pull_reply);
  EXPECT_EQ(other->received(), std::vector<float>(elements, -115.0F));
  auto farewell = after->header(frame_kind::finished, runtime::whole_job, 5);
  after->post(farewell);
  frame_header answer;
  do answer = after->next(frame_kind::push_ack);
  while (answer.chunk != runtime::whole_job);
  EXPECT_EQ(answer.version, 0u) << "what the shard copied for the earlier one";
}

}  // namespace
}  // namespace tidegate::tests
