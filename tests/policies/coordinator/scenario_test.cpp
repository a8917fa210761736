// Jobs from their beginning to their end, as scripts: what happens, and each effect of it.
#include "tests/policies/coordinator/scenario.hpp"

#include <algorithm>

#include <gmock/gmock.h>

namespace tidegate::policies {
namespace {

using namespace tests;
using runtime::errc;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(coordinator_scenarios, a_bsp_job_runs_from_the_first_join_to_its_end) {
  coordinator_scenario run({});
  EXPECT_THAT(run.worker_joins({.rank = 0}), ElementsAre("record worker/j/0"));
  EXPECT_THAT(run.shard_joins({.shard = 0}), ElementsAre("answer shard-0: ok"));
  EXPECT_THAT(run.shard_joins({.shard = 1}),
              ElementsAre("record tables/00000000",
                          "call shard-0: open j, bsp, workers 2 of 2, epoch 1.0",
                          "call shard-1: open j, bsp, workers 2 of 2, epoch 1.0",
                          "call shard-0: open table 0 (j w), chunks 0@0",
                          "call shard-1: open table 0 (j w), chunks 1@1",
                          "call shard-0: admit rank 0 of j at worker-j-0, life 1",
                          "call shard-1: admit rank 0 of j at worker-j-0, life 1",
                          "answer shard-1: ok"));
  EXPECT_THAT(run.answers({.by = "shard-0"}), IsEmpty());
  EXPECT_EQ(run.state(), job_state::waiting);
  EXPECT_THAT(
      run.answers({.by = "shard-1"}),
      ElementsAre("record worker/j/0", "record job/j",
                  "answer worker-j-0: welcome to j among 2, clock 0, shard-0@1.0 shard-1@1.0"));
  EXPECT_EQ(run.state(), job_state::running);
  EXPECT_THAT(
      run.worker_joins({.rank = 1}),
      ElementsAre("record worker/j/1", "call shard-0: admit rank 1 of j at worker-j-1, life 1",
                  "call shard-1: admit rank 1 of j at worker-j-1, life 1"));
  EXPECT_THAT(
      run.answers({}),
      ElementsAre("record worker/j/1",
                  "answer worker-j-1: welcome to j among 2, clock 0, shard-0@1.0 shard-1@1.0"));
  EXPECT_THAT(run.opens_table({.rank = 0, .name = "w", .elements = 32}),
              ElementsAre("answer worker-j-0: table 0 (w) of 32 elements, chunks 0@0 1@1"));
  EXPECT_THAT(run.tables_opened({.rank = 0}), ElementsAre("record worker/j/0"));
  EXPECT_THAT(run.tables_opened({.rank = 1}), ElementsAre("record worker/j/1"));
  EXPECT_THAT(run.comes_to({.rank = 0, .clock = 5}), IsEmpty());
  EXPECT_THAT(run.worker_finishes({.rank = 1}),
              ElementsAre("record worker/j/1", "record job/j"));
  EXPECT_THAT(run.worker_finishes({.rank = 0, .sha256 = "abc"}),
              ElementsAre("record worker/j/0", "record job/j", "record job/j"));
  EXPECT_EQ(run.state(), job_state::done);
  EXPECT_THAT(run.waiting(), IsEmpty());
}

TEST(coordinator_scenarios, a_table_that_a_worker_creates_is_granted_to_all_who_ask_for_it) {
  auto run = coordinator_scenario::training({});
  EXPECT_THAT(
      run.opens_table({.rank = 0, .name = "b", .elements = 40}),
      ElementsAre("record tables/00000001", "call shard-0: open table 1 (j b), chunks 0@0 2@0",
                  "call shard-1: open table 1 (j b), chunks 1@1"));
  EXPECT_THAT(run.opens_table({.rank = 1, .name = "b", .elements = 40}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-1"}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-0"}),
              ElementsAre("answer worker-j-0: table 1 (b) of 40 elements, chunks 0@0 1@1 2@0",
                          "answer worker-j-1: table 1 (b) of 40 elements, chunks 0@0 1@1 2@0"));
  EXPECT_THAT(run.opens_table({.rank = 1, .name = "b", .elements = 40}),
              ElementsAre("answer worker-j-1: table 1 (b) of 40 elements, chunks 0@0 1@1 2@0"));
  EXPECT_THAT(
      run.opens_table({.rank = 1, .name = "b", .elements = 41}),
      ElementsAre(
          "refuse worker-j-1: invalid_argument: table 'b' of job j exists with another shape"));
}

TEST(coordinator_scenarios, a_table_that_a_shard_refuses_fails_the_job) {
  auto run = coordinator_scenario::training({});
  run.opens_table({.rank = 0, .name = "b", .elements = 32});
  EXPECT_THAT(run.answers({.by = "shard-0", .result = {errc::io_error, "no memory"}}),
              IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-1"}),
              ElementsAre("record job/j", "call shard-0: close j", "call shard-1: close j",
                          "refuse worker-j-0: io_error: no memory"));
  EXPECT_EQ(run.state(), job_state::failed);
}

TEST(coordinator_scenarios, a_checkpoint_is_begun_copied_and_written) {
  auto run = coordinator_scenario::training({.checkpoint_every_clocks = 10});
  EXPECT_THAT(run.comes_to({.rank = 0, .clock = 1}),
              ElementsAre("begin a checkpoint of j", "record job/j",
                          "call shard-0: copy tables 0 of j at clock 10 as e0001-00000001",
                          "call shard-1: copy tables 0 of j at clock 10 as e0001-00000001"));
  EXPECT_THAT(run.comes_to({.rank = 0, .clock = 2}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-0", .number = nothing_missed}), IsEmpty());
  EXPECT_THAT(run.part_is_durable({.shard = 0, .clock = 10}), IsEmpty());
  EXPECT_THAT(run.part_is_durable({.shard = 1, .clock = 10}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-1", .number = nothing_missed}),
              ElementsAre("write manifest e0001-00000001 of j: clock 10, tables w, parts of "
                          "shards 0 1, keep 2"));
  EXPECT_THAT(run.manifest_is_written(), ElementsAre("record job/j"));
  const auto status = run.core().status(1, 0);
  EXPECT_EQ(status.jobs[0].checkpoint_clock, 10U);
  EXPECT_EQ(status.jobs[0].checkpointing.count, 1U);
  EXPECT_EQ(status.jobs[0].checkpointing.clock, 10U);
  const auto event = std::ranges::find(status.events, "checkpoint", &cluster_event::subject);
  ASSERT_NE(event, status.events.end());
  EXPECT_EQ(event->about.job, "j");
  EXPECT_EQ(event->about.clock, 10U);
}

TEST(coordinator_scenarios,
     a_checkpoint_for_which_a_shard_is_too_far_is_tried_at_a_later_clock) {
  auto run = coordinator_scenario::training({.checkpoint_every_clocks = 10});
  EXPECT_THAT(run.comes_to({.rank = 0, .clock = 1}),
              ElementsAre("begin a checkpoint of j", "record job/j",
                          "call shard-0: copy tables 0 of j at clock 10 as e0001-00000001",
                          "call shard-1: copy tables 0 of j at clock 10 as e0001-00000001"));
  EXPECT_THAT(run.answers({.by = "shard-0", .number = nothing_missed}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-1", .number = 11}), IsEmpty());
  EXPECT_THAT(run.comes_to({.rank = 0, .clock = 2}),
              ElementsAre("begin a checkpoint of j", "record job/j",
                          "call shard-0: copy tables 0 of j at clock 20 as e0001-00000002",
                          "call shard-1: copy tables 0 of j at clock 20 as e0001-00000002"));
  EXPECT_THAT(run.part_is_durable({.shard = 0, .failure = "no space"}), IsEmpty());
  EXPECT_THAT(run.comes_to({.rank = 1, .clock = 12}),
              ElementsAre("begin a checkpoint of j", "record job/j",
                          "call shard-0: copy tables 0 of j at clock 20 as e0001-00000003",
                          "call shard-1: copy tables 0 of j at clock 20 as e0001-00000003"));
}

TEST(coordinator_scenarios, a_job_with_checkpoints_is_done_when_its_last_one_is_written) {
  auto run = coordinator_scenario::training({.shards = 1, .checkpoint_every_clocks = 10});
  run.worker_finishes({.rank = 1});
  EXPECT_THAT(run.worker_finishes({.rank = 0, .sha256 = "abc"}),
              ElementsAre("record worker/j/0", "record job/j", "begin a checkpoint of j",
                          "record job/j",
                          "call shard-0: copy tables 0 of j at the end as e0001-00000001"));
  EXPECT_THAT(run.answers({.number = nothing_missed}), IsEmpty());
  EXPECT_THAT(
      run.part_is_durable({.shard = 0, .clock = 20}),
      ElementsAre(
          "write manifest e0001-00000001 of j: clock 20, tables w, parts of shards 0, keep 2"));
  EXPECT_EQ(run.state(), job_state::running);
  EXPECT_THAT(run.manifest_is_written(), ElementsAre("record job/j", "record job/j"));
  EXPECT_EQ(run.state(), job_state::done);
}

TEST(coordinator_scenarios, a_job_that_fails_while_calls_are_open_refuses_all_who_wait) {
  auto run = coordinator_scenario::begun({.workers = 3});
  for (const std::uint32_t rank : {0U, 1U}) {
    run.worker_joins({.rank = rank});
    run.answers_all();
  }
  run.worker_joins({.rank = 2});
  run.opens_table({.rank = 0, .name = "b"});
  run.worker_leaves({.rank = 1});
  EXPECT_THAT(run.waiting(), ElementsAre("worker-j-2", "worker-j-0", "launcher"));
  EXPECT_THAT(run.fails("NaN in w"),
              ElementsAre("record job/j", "call shard-0: close j", "call shard-1: close j",
                          "refuse worker-j-2: cancelled: job j failed: NaN in w",
                          "refuse worker-j-0: cancelled: job j failed: NaN in w",
                          "refuse launcher: cancelled: job j failed: NaN in w"));
  EXPECT_THAT(run.waiting(), IsEmpty());
  EXPECT_THAT(run.answers({}), IsEmpty()) << "nobody waits for what comes now";
  EXPECT_THAT(run.fails("another reason"), IsEmpty());
  EXPECT_THAT(run.worker_joins({.rank = 2, .incarnation = 2}),
              ElementsAre("refuse worker-j-2#2: refused: job j has ended"));
}

TEST(coordinator_scenarios, a_coordinator_that_comes_back_goes_on_with_its_journal) {
  auto run = coordinator_scenario::training({});
  run.opens_table({.rank = 0, .name = "b"});
  run.worker_finishes({.rank = 0, .sha256 = "abc"});
  EXPECT_THAT(run.coordinator_comes_back(), IsEmpty());
  EXPECT_THAT(
      run.opens_table({.rank = 0, .name = "b"}),
      ElementsAre(
          "refuse worker-j-0: unavailable: table 'b' of job j: not all shards have come back"));
  EXPECT_THAT(run.asks_for_moves({.rank = 0}), IsEmpty());
  EXPECT_THAT(run.worker_joins({.rank = 1, .incarnation = 2}),
              ElementsAre("record job/j", "record worker/j/1"));
  EXPECT_THAT(run.shard_joins({.shard = 1}), ElementsAre("answer shard-1: ok"));
  EXPECT_THAT(
      run.shard_joins({.shard = 0}),
      ElementsAre("call shard-0: open j, bsp, workers 2 of 2, epoch 1.0",
                  "call shard-0: hold no clock of j",
                  "call shard-1: open j, bsp, workers 2 of 2, epoch 1.0",
                  "call shard-1: hold no clock of j",
                  "call shard-0: open table 0 (j w), chunks 0@0",
                  "call shard-1: open table 0 (j w), chunks 1@1",
                  "call shard-0: open table 1 (j b), chunks 0@0", "answer shard-0: ok"));
  EXPECT_THAT(run.answers({.by = "shard-0"}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-1"}),
              ElementsAre("call shard-0: admit rank 1 of j at worker-j-1#2, life 2, tables 0",
                          "call shard-1: admit rank 1 of j at worker-j-1#2, life 2, tables 0"));
  EXPECT_THAT(
      run.answers({.number = 4}),
      ElementsAre(
          "record worker/j/1",
          "answer worker-j-1#2: welcome to j among 2, clock 4, shard-0@1.0 shard-1@1.0"));
  EXPECT_THAT(run.opens_table({.rank = 0, .name = "b"}),
              ElementsAre("answer worker-j-0: table 1 (b) of 16 elements, chunks 0@0"));
  EXPECT_THAT(run.worker_finishes({.rank = 1}),
              ElementsAre("record worker/j/1", "record job/j", "record job/j"));
  EXPECT_EQ(run.state(), job_state::done);
}

TEST(coordinator_scenarios,
     a_failed_job_is_closed_at_shards_that_come_to_the_next_coordinator) {
  auto run = coordinator_scenario::training({});
  run.fails("NaN");
  EXPECT_THAT(run.coordinator_comes_back(), IsEmpty());
  EXPECT_THAT(run.shard_joins({.shard = 0}), ElementsAre("answer shard-0: ok"));
  EXPECT_THAT(
      run.shard_joins({.shard = 1}),
      ElementsAre("call shard-0: close j", "call shard-1: close j", "answer shard-1: ok"));
}

}  // namespace
}  // namespace tidegate::policies
