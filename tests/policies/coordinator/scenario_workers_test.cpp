// Workers that die, leave and join, and their aggregators, as scripts: what happens, and each
// effect of it.
#include <gmock/gmock.h>

#include "tests/policies/coordinator/scenario.hpp"

namespace tidegate::policies {
namespace {

using namespace tests;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(coordinator_worker_scenarios, the_successor_of_a_worker_resumes_where_its_last_shard_is) {
  auto run = coordinator_scenario::training({});
  EXPECT_THAT(run.worker_dies({.rank = 1}), IsEmpty());
  EXPECT_THAT(run.worker_joins({.rank = 1, .incarnation = 2}),
              ElementsAre("record job/j", "record worker/j/1",
                          "call shard-0: admit rank 1 of j at worker-j-1#2, life 2, tables 0",
                          "call shard-1: admit rank 1 of j at worker-j-1#2, life 2, tables 0"));
  EXPECT_THAT(run.answers({.by = "shard-0", .number = 6}), IsEmpty());
  EXPECT_THAT(
      run.answers({.by = "shard-1", .number = 7}),
      ElementsAre(
          "record worker/j/1",
          "answer worker-j-1#2: welcome to j among 2, clock 6, shard-0@1.0 shard-1@1.0"));
  EXPECT_THAT(
      run.worker_joins({.rank = 1, .incarnation = 1}),
      ElementsAre("refuse worker-j-1: already_exists: rank 1 of job j is there already"));
}

TEST(coordinator_worker_scenarios, a_worker_whose_successor_comes_meanwhile_is_not_let_in) {
  auto run = coordinator_scenario::begun({.shards = 1});
  EXPECT_THAT(run.worker_joins({.rank = 0}),
              ElementsAre("record worker/j/0",
                          "call shard-0: admit rank 0 of j at worker-j-0, life 1"));
  EXPECT_THAT(run.worker_joins({.rank = 0, .incarnation = 2}),
              ElementsAre("record job/j", "record worker/j/0",
                          "call shard-0: admit rank 0 of j at worker-j-0#2, life 2"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("record worker/j/0", "record job/j",
                          "refuse worker-j-0: cancelled: another process has taken its rank",
                          "answer worker-j-0#2: welcome to j among 2, clock 0, shard-0@1.0"));
}

TEST(coordinator_worker_scenarios, a_worker_leaves_for_good_where_its_last_push_is) {
  auto run = coordinator_scenario::training(
      {.workers = 3, .on_worker_loss = worker_loss_rule::shrink});
  EXPECT_THAT(
      run.worker_leaves({.rank = 1}),
      ElementsAre("call shard-0: shut out rank 1 of j", "call shard-1: shut out rank 1 of j"));
  EXPECT_THAT(run.answers({.by = "shard-0", .number = 5}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-1", .number = 4}),
              ElementsAre("record job/j", "record worker/j/1",
                          "call shard-0: change 1 of j: rank 1 leaves at clock 5",
                          "call shard-1: change 1 of j: rank 1 leaves at clock 5"));
  EXPECT_THAT(run.answers({.by = "shard-0"}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-1"}), ElementsAre("answer launcher: ok"));
  EXPECT_THAT(run.worker_joins({.rank = 1, .incarnation = 2}),
              ElementsAre("refuse worker-j-1#2: refused: rank 1 of job j has left: the others "
                          "go on since clock 5"));
  EXPECT_THAT(run.worker_leaves({.rank = 1}), ElementsAre("answer launcher: ok"));
  EXPECT_THAT(run.worker_finishes({.rank = 0, .sha256 = "abc"}),
              ElementsAre("record worker/j/0", "record job/j"));
  EXPECT_THAT(run.worker_leaves({.rank = 2}),
              ElementsAre("refuse launcher: refused: rank 2 is the last of job j"));
  EXPECT_THAT(run.worker_finishes({.rank = 2}),
              ElementsAre("record worker/j/2", "record job/j", "record job/j"));
  EXPECT_EQ(run.state(), job_state::done);
}

TEST(coordinator_worker_scenarios, a_worker_joins_at_a_clock_that_no_shard_has_come_to) {
  auto run = coordinator_scenario::training({.max_workers = 3});
  EXPECT_THAT(
      run.worker_joins({.rank = 2}),
      ElementsAre("refuse worker-j-2: refused: rank 2 of job j joins a job of 2 workers"));
  EXPECT_THAT(run.scales(3), ElementsAre("record worker/j/2", "record job/j"));
  EXPECT_THAT(run.comes_to({.rank = 0, .clock = 10}), IsEmpty());
  EXPECT_THAT(run.worker_joins({.rank = 2}),
              ElementsAre("record worker/j/2", "call shard-0: hold clock 12 of j for rank 2",
                          "call shard-1: hold clock 12 of j for rank 2"));
  EXPECT_THAT(run.answers({.by = "shard-0"}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-1", .number = 14}),
              ElementsAre("call shard-0: hold clock 16 of j for rank 2",
                          "call shard-1: hold clock 16 of j for rank 2"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("record job/j", "record worker/j/2",
                          "call shard-0: change 1 of j: rank 2 joins at clock 16",
                          "call shard-1: change 1 of j: rank 2 joins at clock 16"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("call shard-0: admit rank 2 of j at worker-j-2, life 1",
                          "call shard-1: admit rank 2 of j at worker-j-2, life 1"));
  EXPECT_THAT(
      run.answers({.number = clock_vector::infinity}),
      ElementsAre(
          "record worker/j/2",
          "answer worker-j-2: welcome to j among 3, clock 16, shard-0@1.0 shard-1@1.0"));
  EXPECT_THAT(run.tables_opened({.rank = 2}), ElementsAre("record worker/j/2"));
  run.worker_leaves({.rank = 2});
  run.answers_all();
  EXPECT_THAT(run.worker_joins({.rank = 2, .incarnation = 2}),
              ElementsAre("refuse worker-j-2#2: refused: rank 2 of job j has left: the others "
                          "go on since clock 16"));
}

TEST(coordinator_worker_scenarios, a_worker_that_is_not_wanted_any_more_is_sent_away) {
  auto run = coordinator_scenario::training({.max_workers = 3});
  run.scales(3);
  EXPECT_THAT(run.worker_joins({.rank = 2}),
              ElementsAre("record worker/j/2", "call shard-0: hold clock 2 of j for rank 2",
                          "call shard-1: hold clock 2 of j for rank 2"));
  EXPECT_THAT(run.scales(2), ElementsAre("record worker/j/2", "record job/j"));
  EXPECT_THAT(run.answers({}), ElementsAre("call shard-0: hold no clock of j",
                                           "call shard-1: hold no clock of j",
                                           "refuse worker-j-2: cancelled: another process has "
                                           "taken its rank, or none is wanted any more"));
}

TEST(coordinator_worker_scenarios, an_aggregator_that_takes_the_place_of_another_is_set_up) {
  auto run = coordinator_scenario::training({.workers = 3, .fan_in = 2});
  EXPECT_THAT(run.aggregator_dies({.index = 0}), IsEmpty());
  EXPECT_THAT(run.worker_joins({.rank = 1, .incarnation = 2}),
              ElementsAre("record job/j", "record worker/j/1"));
  EXPECT_THAT(run.aggregator_joins({.index = 0, .incarnation = 2}),
              ElementsAre("call shard-0: admit rank 0 of j at aggregator-j-0#2, life 2",
                          "call shard-0: say how far sums of j are, ranks 0",
                          "call shard-1: admit rank 0 of j at aggregator-j-0#2, life 2",
                          "call shard-1: say how far sums of j are, ranks 0",
                          "answer aggregator-j-0#2: ok"));
  EXPECT_THAT(run.answers({.by = "shard-0", .clocks = {{0, 0, 7}}}), IsEmpty());
  EXPECT_THAT(
      run.answers({.by = "shard-1", .clocks = {{0, 1, 6}}}),
      ElementsAre("call aggregator-j-0: open j, bsp, workers 3 of 3, epoch 1.1, pushed by 0 1, "
                  "sums 0-1 as life 2 to shard-0@1.0 shard-1@1.0",
                  "call aggregator-j-0: open table 0 (j w), chunks 0@0 1@1, clocks 7 6",
                  "call aggregator-j-0: admit rank 0 of j at worker-j-0, life 1, tables 0",
                  "call aggregator-j-0: admit rank 1 of j at worker-j-1#2, life 2, tables 0"));
  EXPECT_THAT(
      run.answers({}),
      ElementsAre("call aggregator-j-0: admit rank 1 of j at worker-j-1#2, life 2, tables 0",
                  "tell worker-j-0: shard 0 is aggregator-j-0#2, epoch 1.1",
                  "tell worker-j-1: shard 0 is aggregator-j-0#2, epoch 1.1"));
  EXPECT_THAT(run.answers({.number = 6}),
              ElementsAre("record worker/j/1",
                          "answer worker-j-1#2: welcome to j among 3, clock 6, "
                          "aggregator-j-0#2@1.1, aggregated, a clock in flight"));
  EXPECT_THAT(
      run.worker_finishes({.rank = 0, .sha256 = "abc"}),
      ElementsAre(
          "record worker/j/0", "record job/j",
          "call aggregator-j-0: admit rank 0 of j at worker-j-0, life 1, tables 0, finished"));
}

TEST(coordinator_worker_scenarios, a_job_with_aggregators_begins_from_the_shards_down) {
  coordinator_scenario run({.workers = 5, .shards = 1, .fan_in = 2});
  run.shard_joins({.shard = 0});
  run.aggregator_joins({.index = 0});
  run.aggregator_joins({.index = 1});
  EXPECT_THAT(
      run.aggregator_joins({.index = 2}),
      ElementsAre("record tables/00000000",
                  "call shard-0: open j, bsp, workers 5 of 5, epoch 1.0, pushed by 0 4",
                  "call aggregator-j-0: open j, bsp, workers 5 of 5, epoch 1.0, pushed by 0 1, "
                  "sums 0-1 as life 1 to aggregator-j-2@1.0 that may move",
                  "call aggregator-j-1: open j, bsp, workers 5 of 5, epoch 1.0, pushed by 2 3, "
                  "sums 2-3 as life 1 to aggregator-j-2@1.0 that may move",
                  "call aggregator-j-2: open j, bsp, workers 5 of 5, epoch 1.0, pushed by 0 2, "
                  "sums 0-3 as life 1 to shard-0@1.0",
                  "call aggregator-j-2: admit rank 0 of j at aggregator-j-0, life 1",
                  "call aggregator-j-2: admit rank 2 of j at aggregator-j-1, life 1",
                  "call shard-0: admit rank 0 of j at aggregator-j-2, life 1",
                  "call shard-0: open table 0 (j w), chunks 0@0", "answer aggregator-j-2: ok"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("call aggregator-j-2: open table 0 (j w), chunks 0@0"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("call aggregator-j-0: open table 0 (j w), chunks 0@0",
                          "call aggregator-j-1: open table 0 (j w), chunks 0@0"));
  EXPECT_THAT(run.answers({}), IsEmpty());
  EXPECT_THAT(run.worker_joins({.rank = 3}),
              ElementsAre("record worker/j/3",
                          "call aggregator-j-1: admit rank 3 of j at worker-j-3, life 1"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("record worker/j/3", "record job/j",
                          "answer worker-j-3: welcome to j among 5, clock 0, "
                          "aggregator-j-1@1.0, aggregated, a clock in flight"));
}

TEST(coordinator_worker_scenarios, replicas_hear_of_a_worker_that_leaves) {
  auto run = coordinator_scenario::training({.shards = 1, .replicas = 1});
  EXPECT_THAT(run.worker_leaves({.rank = 0}),
              ElementsAre("call shard-0.0: shut out rank 0 of j",
                          "call shard-0.1: shut out rank 0 of j"));
  EXPECT_THAT(run.answers({.by = "shard-0.1", .number = 9}), IsEmpty());
  EXPECT_THAT(run.answers({.by = "shard-0.0", .number = 8}),
              ElementsAre("record job/j", "record worker/j/0",
                          "call shard-0.0: change 1 of j: rank 0 leaves at clock 8",
                          "call shard-0.1: change 1 of j: rank 0 leaves at clock 8"));
  EXPECT_THAT(run.answers({}), ElementsAre("answer launcher: ok"));
}

TEST(coordinator_worker_scenarios, an_aggregator_hears_after_the_shards_that_a_worker_leaves) {
  auto run = coordinator_scenario::training({.workers = 3, .shards = 1, .fan_in = 2});
  EXPECT_THAT(run.worker_leaves({.rank = 1}),
              ElementsAre("call aggregator-j-0: shut out rank 1 of j"));
  EXPECT_THAT(run.answers({.number = 5}),
              ElementsAre("call shard-0: say how far rank 0 of j is"));
  EXPECT_THAT(
      run.answers({.number = 4}),
      ElementsAre(
          "record job/j", "record worker/j/1",
          "call shard-0: change 1 of j: rank 1 leaves at clock 5, behind an aggregator"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("call aggregator-j-0: change 1 of j: rank 1 leaves at clock 5"));
  EXPECT_THAT(run.answers({}), ElementsAre("answer launcher: ok"));
}

}  // namespace
}  // namespace tidegate::policies
