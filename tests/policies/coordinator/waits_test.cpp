// Peers that members cannot reach, and waits, as the coordinator's core tells them.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policies/coordinator/core.hpp"

namespace tidegate::policies {
namespace {

constexpr std::int64_t second = 1000 * millisecond;

cluster_spec two_workers() {
  cluster_spec spec;
  spec.name = "c";
  spec.shards = 1;
  job_spec job;
  job.name = "j";
  job.workers = 2;
  spec.jobs.push_back(job);
  return spec;
}

class coordinator_waits : public testing::Test {
 protected:
  coordinator_core core{two_workers(), 99};
  coordinator_effects out;

  void answer_calls(std::int64_t now) {
    while (!out.calls.empty())
      for (const auto& call : std::exchange(out.calls, {}))
        core.call_done(now, call.call, {}, out);
  }
  void begin() {
    core.shard_joined(second, 0, "s0", 1, out);
    answer_calls(second);
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      core.worker_joined(
          second,
          {.job = "j", .rank = rank, .incarnation = 1, .address = "w" + std::to_string(rank)},
          2 + rank, out);
    answer_calls(second);
  }
  std::vector<std::string> waits(std::int64_t now) {
    core.look_at_waits(now);
    std::vector<std::string> found;
    for (const auto& wait : core.status(now, 0).waits)
      found.push_back(wait.waiter + ": " + wait.awaited);
    return found;
  }
  bool has_event(const std::string& kind, const std::string& part) const {
    const auto events = core.status(0, 0).events;
    return std::any_of(events.begin(), events.end(), [&](const auto& event) {
      return event.subject == kind && event.detail.find(part) != std::string::npos;
    });
  }
};

TEST_F(coordinator_waits, the_condemned_is_named_as_the_launcher_knows_it) {
  begin();
  const std::vector<unreachable_peer> shard{{.address = "s0", .for_ns = 3 * second}};
  core.unreachable(20 * second, "w1", shard);
  EXPECT_TRUE(core.status(20 * second, 0).condemned.empty());
  const auto reported = waits(20 * second);
  EXPECT_NE(std::find(reported.begin(), reported.end(), "worker-j-1: a connection to shard-0"),
            reported.end());
  EXPECT_TRUE(has_event("waits", "worker-j-1 has waited 3.0 s for a connection to shard-0"));

  const std::vector<unreachable_peer> overdue{{.address = "s0", .for_ns = 15 * second}};
  for (const auto now : {25 * second, 26 * second, 27 * second})
    core.unreachable(now, "w1", overdue);
  const auto condemned = core.status(27 * second, 0).condemned;
  ASSERT_EQ(condemned.size(), 1u);
  EXPECT_EQ(condemned[0].name.to_string(), "worker-j-1");
  EXPECT_EQ(condemned[0].incarnation, 1u);
  EXPECT_TRUE(has_event("process_condemned", "worker-j-1: it and shard-0"));
}

TEST_F(coordinator_waits, a_member_out_of_the_coordinators_reach_is_condemned_once) {
  begin();
  core.out_of_reach(20 * second, "nobody");
  EXPECT_TRUE(core.status(20 * second, 0).condemned.empty());
  core.out_of_reach(20 * second, "w1");
  core.out_of_reach(21 * second, "w1");
  const auto condemned = core.status(21 * second, 0).condemned;
  ASSERT_EQ(condemned.size(), 1u);
  EXPECT_EQ(condemned[0].name.to_string(), "worker-j-1");
  EXPECT_TRUE(has_event("process_condemned", "worker-j-1: it had not reached the coordinator"));
}

TEST_F(coordinator_waits, a_shard_out_of_reach_of_both_workers_is_condemned) {
  begin();
  const std::vector<unreachable_peer> workers{{.address = "w0", .for_ns = 16 * second},
                                              {.address = "w1", .for_ns = 16 * second}};
  for (const auto now : {28 * second, 29 * second, 30 * second})
    core.unreachable(now, "s0", workers);
  ASSERT_EQ(core.status(30 * second, 0).condemned.size(), 1u);
  EXPECT_EQ(core.status(30 * second, 0).condemned[0].name.to_string(), "shard-0");
}

TEST_F(coordinator_waits, processes_that_are_to_join_and_calls_are_waited_for) {
  core.look_at_waits(second);
  EXPECT_EQ(waits(4 * second), (std::vector<std::string>{"coordinator-0: shard-0 to join",
                                                         "job j: worker-j-0 to join",
                                                         "job j: worker-j-1 to join"}));
  core.shard_joined(5 * second, 0, "s0", 1, out);
  core.look_at_waits(5 * second);
  const auto reported = waits(8 * second);
  EXPECT_NE(std::find(reported.begin(), reported.end(), "coordinator-0: shard 0 to open job j"),
            reported.end());
  answer_calls(9 * second);
  const auto after = waits(9 * second);
  EXPECT_EQ(std::find(after.begin(), after.end(), "coordinator-0: shard 0 to open job j"),
            after.end());
}

TEST_F(coordinator_waits, the_slowest_worker_is_waited_for_without_an_event) {
  begin();
  worker_progress ahead;
  ahead.clock = 5;
  core.progress(10 * second, "j", 0, ahead, out);
  core.look_at_waits(10 * second);
  const auto reported = waits(13 * second);
  EXPECT_EQ(reported, (std::vector<std::string>{"job j: clock 1 of worker-j-1"}));
  EXPECT_FALSE(has_event("waits", "clock 1"));
}

TEST_F(coordinator_waits, a_worker_that_asks_again_is_not_lost) {
  begin();
  const auto is_missed = [this](std::int64_t now) {
    core.look_at_waits(now);
    const auto reported = waits(now + 3 * second);
    return std::find(reported.begin(), reported.end(), "job j: worker-j-1 to join") !=
           reported.end();
  };
  core.worker_lost(10 * second, "j", 1, "its connection broke");
  core.moves_of("j", 1, 2, out);
  EXPECT_TRUE(is_missed(10 * second)) << "that was another life of it";
  core.moves_of("j", 1, 1, out);
  EXPECT_FALSE(is_missed(20 * second));
}

TEST_F(coordinator_waits, a_lost_worker_is_waited_for_until_its_successor_joins) {
  begin();
  core.worker_lost(10 * second, "j", 1, "killed");
  core.look_at_waits(10 * second);
  const auto reported = waits(13 * second);
  EXPECT_NE(std::find(reported.begin(), reported.end(), "job j: worker-j-1 to join"),
            reported.end());
  core.worker_joined(14 * second, {.job = "j", .rank = 1, .incarnation = 2, .address = "w1b"},
                     9, out);
  const auto after = waits(14 * second);
  EXPECT_EQ(std::find(after.begin(), after.end(), "job j: worker-j-1 to join"), after.end());
}

}  // namespace
}  // namespace tidegate::policies
