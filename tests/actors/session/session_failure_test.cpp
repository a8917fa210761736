// Sessions when something fails: every wait ends, every error says why, memory stays the
// user's.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "policies/protocol/protocol.hpp"
#include "tests/actors/session/session_fixture.hpp"
#include "tests/support/hooked_link.hpp"

namespace tidegate::tests {
namespace {

using session_failure_test = session_test;

TEST_F(session_failure_test, leaving_without_finish_fails_the_job) {
  local_cluster cluster(small_cluster(1, 2, {consistency_kind::bsp, 0}), links());
  {
    auto s = cluster.join("job", 1);
    ASSERT_TRUE(s);
  }
  const auto job = cluster.status().jobs[0];
  EXPECT_EQ(job.state, policies::job_state::failed);
  EXPECT_NE(job.failure.find("worker 1 left before finish()"), std::string::npos);
  auto late = cluster.join("job", 0);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code(), errc::refused);
}

TEST_F(session_failure_test,
       workers_that_open_different_tables_fail_instead_of_waiting_for_ever) {
  local_cluster cluster(small_cluster(1, 2, {consistency_kind::bsp, 0}), links());
  std::barrier both_joined(2);
  cluster.run_workers("job", [&](session& s) {
    both_joined.arrive_and_wait();
    const auto t = open(s, 8);
    if (s.info().rank == 1) {
      EXPECT_TRUE(s.open_table("extra", {8}));
    }
    // Each waits for the other's push; the job's end ends the wait.
    const floats g(8, 1.0F);
    auto done = s.push(t, g).wait();
    while (done.ok()) done = s.clock();
  });
  const auto job = cluster.status().jobs[0];
  EXPECT_EQ(job.state, policies::job_state::failed);
  EXPECT_NE(job.failure.find("worker 1 opened table 'extra' and worker 0 did not"),
            std::string::npos)
      << job.failure;
}

TEST_F(session_failure_test, a_failed_job_lets_nobody_wait) {
  local_cluster cluster(small_cluster(2, 2, {consistency_kind::bsp, 0}), links());
  std::barrier both_joined(2);
  cluster.run_workers("job", [&](session& s) {
    both_joined.arrive_and_wait();
    if (s.info().rank == 1) {
      s.fail({errc::io_error, "disk"});
      return;
    }
    auto t = s.open_table("t", {64});
    if (!t) return;  // the failure was faster
    const floats g(64, 1.0F);
    expect(s.push(*t, g).wait(), errc::refused, "the job has ended");
  });
  EXPECT_EQ(cluster.status().jobs[0].failure, "worker 1: disk");
}

TEST_F(session_failure_test, a_shard_may_stop_in_the_middle_of_pushes) {
  for (int round = 0; round < 20; ++round) {
    auto cluster = std::make_unique<local_cluster>(
        small_cluster(1, 1, {consistency_kind::async, 0}, 64), links());
    auto s = cluster->join("job", 0);
    ASSERT_TRUE(s);
    const auto t = open(*s, 64'000);  // 4,000 chunks: many are in the shard's mailbox
    floats w(64'000), g(64'000, 1.0F);
    auto pushed = s->push(t, g);
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    cluster->stop();
    const auto outcome = pushed.wait();
    EXPECT_TRUE(outcome.ok() || outcome.code() == errc::unavailable) << outcome.to_string();
    // The session keeps the system alive until it is gone.
    s = runtime::fail(errc::cancelled, "");
  }
}

TEST_F(session_failure_test, after_a_failure_memory_belongs_to_the_user) {
  local_cluster cluster(small_cluster(2, 2, {consistency_kind::bsp, 0}, 64), links());
  auto other = cluster.join("job", 1);
  ASSERT_TRUE(other);
  auto s = cluster.join("job", 0);
  ASSERT_TRUE(s);
  const auto t = open(*s, 6400);
  const auto same = open(*other, 6400);
  floats w(6400, 7.0F), g(6400, 1.0F);
  auto pushed = s->push(t, g);
  ASSERT_TRUE(s->clock().ok());
  auto pulled = s->pull(t, w);  // waits for the other's push of clock 0
  cluster.kill_coordinator();
  expect(pulled.wait(), errc::unavailable, "the coordinator is gone");
  EXPECT_FALSE(pushed.wait().ok());
  std::fill(w.begin(), w.end(), 42.0F);
  // The other knows nothing yet or fails, too; if its push arrives, shards reply to the failed
  // pull.
  const auto late = other->push(same, g).wait();
  EXPECT_TRUE(late.ok() || late.code() == errc::unavailable) << late.to_string();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(w, floats(6400, 42.0F));
}

// Shards may still read both halves, and the job may go on without this process.
TEST_F(session_failure_test, after_a_failure_gradients_are_written_nowhere) {
  local_cluster cluster(small_cluster(2, 2, {consistency_kind::bsp, 0}, 64), links());
  auto other = cluster.join("job", 1);
  auto s = cluster.join("job", 0);
  ASSERT_TRUE(other && s);
  const auto t = open(*s, 6400);
  open(*other, 6400);
  std::vector<const float*> read;
  for (int clock = 0; clock < 2; ++clock) {
    const auto gradient = s->gradient(t);
    std::fill(gradient.begin(), gradient.end(), 1.0F);
    read.push_back(gradient.data());
    s->push(t);
    ASSERT_TRUE(s->clock().ok());
  }
  EXPECT_NE(read[0], read[1]);
  cluster.kill_coordinator();
  const auto lost = s->gradient(t);
  ASSERT_EQ(lost.size(), 6400U);
  EXPECT_TRUE(lost.data() != read[0] && lost.data() != read[1]);
  std::fill(lost.begin(), lost.end(), 2.0F);
  expect(s->push(t).wait(), errc::unavailable, "the coordinator is gone");
}

// A reply is being written into the user's memory, and gradients wait to be sent from there,
// when a shard refuses a push of another table.
TEST_F(session_failure_test, a_refused_push_ends_what_is_under_way_and_lets_go_of_its_memory) {
  constexpr std::uint64_t chunk_bytes = 3 << 20;  // one on the way, a second waits
  constexpr std::uint64_t elements = 2 * chunk_bytes / sizeof(float);
  std::uint32_t bad = 0;
  link_hooks hooks;
  hooks.receiving = [&](runtime::frame_header& header) {
    if (header.kind == runtime::frame_kind::push_ack && header.table == bad)
      header.code = static_cast<std::uint32_t>(policies::reply_code::no_memory);
  };
  bool hooked = false;
  local_cluster cluster(
      small_cluster(1, 1, {consistency_kind::async, 0}, chunk_bytes),
      [&]() -> runtime::expected<std::unique_ptr<runtime::link>> {
        return hooked ? hooks.on(network.make_link()) : network.make_link();
      },
      false);
  hooked = true;
  auto s = cluster.join("job", 0);
  ASSERT_TRUE(s);
  const auto refused = s->open_table("refused", {8});
  ASSERT_TRUE(refused);
  bad = refused->id;
  const auto pulling = s->open_table("pulling", {64});
  const auto pushing = open(*s, elements);
  ASSERT_TRUE(pulling);
  floats w(64, 7.0F), g(elements, 1.0F), values(8, 1.0F);
  hooks.keep_arriving = true;
  hooks.keep_sent = true;
  auto pulled = s->pull(*pulling, w);
  while (hooks.arriving < 1) std::this_thread::yield();
  auto pushed = s->push(pushing, g);
  auto failed = s->push(*refused, values);
  expect(failed.wait(), errc::refused, "push of table 'refused' at clock 0: a shard refused");
  expect(pulled.wait(), errc::refused, "pull of table 'pulling' at clock 0: a shard refused");
  expect(pushed.wait(), errc::refused, "push of table 't' at clock 0: a shard refused");
  std::fill(w.begin(), w.end(), 42.0F);
  hooks.keep_arriving = false;
  hooks.keep_sent = false;
  // Each lets the link make progress.
  expect(s->push(pushing, g).wait(), errc::cancelled, "an earlier operation failed");
  expect(s->clock(), errc::cancelled, "an earlier operation failed");
  EXPECT_EQ(w, floats(64, 42.0F));
  EXPECT_EQ(hooks.payloads_posted, 2u) << "of three: what waited stays";
}

TEST_F(session_failure_test, a_failed_session_refuses_everything_with_the_reason) {
  local_cluster cluster(small_cluster(2, 2, {consistency_kind::bsp, 0}, 64), links());
  std::barrier both_joined(2);
  cluster.run_workers("job", [&](session& s) {
    both_joined.arrive_and_wait();
    const auto t = open(s, 640);
    both_joined.arrive_and_wait();
    if (s.info().rank == 1) {
      s.fail({errc::io_error, "disk"});
      return;
    }
    const floats g(640, 1.0F);
    for (int i = 0; i < 6; ++i) {
      s.push(t, g).then([](const runtime::status&) {});
      s.clock().ok();
    }
    const auto last = s.push(t, g).wait();
    EXPECT_FALSE(last.ok());
    EXPECT_NE(last.message().find("the job has ended"), std::string::npos) << last.to_string();
  });
}

TEST_F(session_failure_test, tables_beyond_all_measure_are_refused) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) {
    auto overflow = s.open_table("overflow", {3, 0x5555555555555556});
    ASSERT_FALSE(overflow);
    EXPECT_EQ(overflow.error().code(), errc::invalid_argument);
    auto chunks = s.open_table("chunks", {1u << 20, 1u << 10});
    ASSERT_FALSE(chunks);
    expect(chunks.error(), errc::over_limit, "cluster.chunk_bytes");
    EXPECT_TRUE(s.finish().ok());
  });
}

TEST_F(session_failure_test, fail_tells_why) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  cluster.run_workers("job", [&](session& s) { s.fail({errc::io_error, "no data set"}); });
  EXPECT_EQ(cluster.status().jobs[0].failure, "worker 0: no data set");
}

TEST_F(session_failure_test, joining_twice_or_as_a_stranger_is_refused) {
  local_cluster cluster(small_cluster(1, 1, {consistency_kind::bsp, 0}), links());
  auto first = cluster.join("job", 0);
  ASSERT_TRUE(first);
  auto second = cluster.join("job", 0);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), errc::already_exists);
  auto stranger = cluster.join("other", 0);
  ASSERT_FALSE(stranger);
  EXPECT_EQ(stranger.error().code(), errc::not_found);
  EXPECT_TRUE(first->finish().ok());
}

}  // namespace
}  // namespace tidegate::tests
