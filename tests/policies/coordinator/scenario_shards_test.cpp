// Shards with replicas, and shards that move, as scripts: what happens, and each effect of it.
#include <gmock/gmock.h>

#include "tests/policies/coordinator/scenario.hpp"

namespace tidegate::policies {
namespace {

using namespace tests;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(coordinator_shard_scenarios, a_shard_and_its_replica_hear_of_each_other_before_the_job) {
  coordinator_scenario run({.shards = 1, .replicas = 1});
  EXPECT_THAT(run.shard_joins({.member = 0}), ElementsAre("answer shard-0.0: ok"));
  EXPECT_THAT(
      run.shard_joins({.member = 1}),
      ElementsAre("record group/0", "record tables/00000000",
                  "call shard-0.1: follow shard-0.0 in view 0",
                  "call shard-0.0: lead shard-0.1 in view 0",
                  "call shard-0.0: open j, bsp, workers 2 of 2, epoch 1.0, replicated",
                  "call shard-0.1: open j, bsp, workers 2 of 2, no frames, replicated",
                  "call shard-0.0: open table 0 (j w), chunks 0@0",
                  "call shard-0.1: open table 0 (j w), chunks 0@0", "answer shard-0.1: ok"));
  EXPECT_THAT(run.answers({}), IsEmpty());
  EXPECT_EQ(run.core().status(1, 0).replicas_in_sync, 1U);
}

TEST(coordinator_shard_scenarios,
     the_replica_of_a_dead_primary_is_promoted_and_workers_are_told) {
  auto run = coordinator_scenario::training({.replicas = 1});
  EXPECT_THAT(run.shard_dies({.shard = 0, .member = 0}),
              ElementsAre("record group/0", "call shard-0.1: serve in view 1, epoch 1.1"));
  EXPECT_THAT(run.asks_for_moves({.rank = 1}), IsEmpty()) << "it does not serve yet";
  EXPECT_THAT(run.worker_joins({.rank = 1, .incarnation = 2}),
              ElementsAre("record job/j", "record worker/j/1"));
  EXPECT_THAT(run.answers({.by = "shard-0.1"}),
              ElementsAre("call shard-0.1: admit rank 1 of j at worker-j-1#2, life 2, tables 0",
                          "call shard-1.0: admit rank 1 of j at worker-j-1#2, life 2, tables 0",
                          "call shard-1.1: admit rank 1 of j at worker-j-1#2, life 2, tables 0",
                          "tell worker-j-0: shard 0 is shard-0.1, epoch 1.1",
                          "tell worker-j-1: shard 0 is shard-0.1, epoch 1.1"));
  EXPECT_THAT(run.asks_for_moves({.rank = 0}),
              ElementsAre("tell worker-j-0: shard 0 is shard-0.1, epoch 1.1"));
  EXPECT_THAT(run.answers({.number = 3}),
              ElementsAre("record worker/j/1",
                          "answer worker-j-1#2: welcome to j among 2, clock 3, shard-0.1@1.1 "
                          "shard-1.0@1.0, replicated"));
}

TEST(coordinator_shard_scenarios, a_new_replica_is_told_of_all_and_then_given_everything) {
  auto run = coordinator_scenario::training({.replicas = 1});
  run.shard_dies({.shard = 0, .member = 0});
  run.answers_all();
  EXPECT_THAT(run.shard_joins({.shard = 0, .member = 0, .incarnation = 2}),
              ElementsAre("record group/0", "call shard-0.0: follow shard-0.1 in view 2",
                          "call shard-0.0: open j, bsp, workers 2 of 2, no frames, replicated",
                          "call shard-0.0: open table 0 (j w), chunks 0@0",
                          "call shard-0.0: admit rank 0 of j at worker-j-0, life 1, tables 0",
                          "call shard-0.0: admit rank 1 of j at worker-j-1, life 1, tables 0",
                          "answer shard-0.0#2: ok"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("call shard-0.1: lead shard-0.0#2 in view 2, hand everything over"));
  EXPECT_EQ(run.core().status(1, 0).replicas_in_sync, 1U);
  EXPECT_THAT(run.answers({}), ElementsAre("record group/0"));
  EXPECT_EQ(run.core().status(1, 0).replicas_in_sync, 2U);
}

TEST(coordinator_shard_scenarios, a_primary_that_dies_before_it_answers_is_not_waited_for) {
  auto run = coordinator_scenario::training({.shards = 1, .replicas = 1});
  EXPECT_THAT(
      run.worker_joins({.rank = 0, .incarnation = 2}),
      ElementsAre("record job/j", "record worker/j/0",
                  "call shard-0.0: admit rank 0 of j at worker-j-0#2, life 2, tables 0",
                  "call shard-0.1: admit rank 0 of j at worker-j-0#2, life 2, tables 0"));
  EXPECT_THAT(run.answers({.by = "shard-0.1", .number = 9}), IsEmpty());
  EXPECT_THAT(run.shard_dies({.member = 0}),
              ElementsAre("record group/0", "call shard-0.1: serve in view 1, epoch 1.1"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("call shard-0.1: admit rank 0 of j at worker-j-0#2, life 2, tables 0",
                          "tell worker-j-0: shard 0 is shard-0.1, epoch 1.1",
                          "tell worker-j-1: shard 0 is shard-0.1, epoch 1.1"));
  EXPECT_THAT(
      run.answers({.number = 8}),
      ElementsAre(
          "record worker/j/0",
          "answer worker-j-0#2: welcome to j among 2, clock 8, shard-0.1@1.1, replicated"));
}

TEST(coordinator_shard_scenarios,
     a_shard_whose_replica_lacks_something_is_lost_with_its_primary) {
  auto run = coordinator_scenario::training({.shards = 1, .replicas = 1});
  EXPECT_THAT(run.shard_dies({.member = 1}),
              ElementsAre("record group/0", "call shard-0.0: lead nobody in view 1"));
  EXPECT_THAT(run.answers({}), IsEmpty());
  run.shard_joins({.member = 1, .incarnation = 2});
  EXPECT_THAT(run.answers({}),
              ElementsAre("call shard-0.0: lead shard-0.1#2 in view 2, hand everything over"));
  EXPECT_THAT(run.shard_dies({.member = 0}), ElementsAre("record group/0"));
  EXPECT_NE(run.core().status(1, 0).lost, "");
}

TEST(coordinator_shard_scenarios, the_neighbours_of_a_replica_that_dies_become_a_pair) {
  auto run = coordinator_scenario::training({.shards = 1, .replicas = 2});
  EXPECT_THAT(run.shard_dies({.member = 1}),
              ElementsAre("record group/0", "call shard-0.2: follow shard-0.0 in view 1"));
  EXPECT_THAT(run.answers({}), ElementsAre("call shard-0.0: lead shard-0.2 in view 1"));
  EXPECT_THAT(run.answers({}), IsEmpty());
}

TEST(coordinator_shard_scenarios,
     a_replica_that_is_given_everything_begins_anew_at_a_new_pair) {
  auto run = coordinator_scenario::training({.workers = 1, .shards = 1, .replicas = 2});
  run.shard_dies({.member = 2});
  run.answers_all();
  run.shard_joins({.member = 2, .incarnation = 2});
  EXPECT_THAT(run.answers({}),
              ElementsAre("call shard-0.1: lead shard-0.2#2 in view 2, hand everything over"));
  EXPECT_THAT(run.shard_dies({.member = 1}),
              ElementsAre("record group/0", "call shard-0.2: follow shard-0.0 in view 3",
                          "call shard-0.2: open j, bsp, workers 1 of 1, no frames, replicated",
                          "call shard-0.2: open table 0 (j w), chunks 0@0",
                          "call shard-0.2: admit rank 0 of j at worker-j-0, life 1, tables 0"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("call shard-0.0: lead shard-0.2#2 in view 3, hand everything over"));
  EXPECT_THAT(run.answers({}), ElementsAre("record group/0"));
}

TEST(coordinator_shard_scenarios,
     an_aggregator_that_returns_hears_of_a_primary_that_has_moved) {
  auto run =
      coordinator_scenario::training({.workers = 3, .shards = 1, .replicas = 1, .fan_in = 2});
  run.shard_dies({.member = 0});
  EXPECT_THAT(run.answers({}),
              ElementsAre("tell aggregator-j-0: shard 0 is shard-0.1, epoch 1.1",
                          "tell worker-j-2: shard 0 is shard-0.1, epoch 1.1"));
  EXPECT_THAT(run.aggregator_joins({.index = 0}),
              ElementsAre("tell aggregator-j-0: shard 0 is shard-0.1, epoch 1.1",
                          "answer aggregator-j-0: ok"));
}

TEST(coordinator_shard_scenarios, a_checkpoint_is_given_up_when_the_primary_of_a_part_dies) {
  auto run = coordinator_scenario::training(
      {.shards = 1, .replicas = 1, .checkpoint_every_clocks = 10});
  EXPECT_THAT(run.comes_to({.rank = 0, .clock = 1}),
              ElementsAre("begin a checkpoint of j", "record job/j",
                          "call shard-0.0: copy tables 0 of j at clock 10 as e0001-00000001"));
  EXPECT_THAT(run.shard_dies({.member = 0}),
              ElementsAre("record group/0", "call shard-0.1: serve in view 1, epoch 1.1"));
  EXPECT_THAT(run.part_is_durable({.shard = 0, .clock = 10}), IsEmpty());
  run.answers_all();
  EXPECT_THAT(run.comes_to({.rank = 0, .clock = 1}),
              ElementsAre("begin a checkpoint of j", "record job/j",
                          "call shard-0.1: copy tables 0 of j at clock 10 as e0001-00000002"));
}

TEST(coordinator_shard_scenarios, the_next_coordinator_has_a_promotion_carried_out) {
  auto run = coordinator_scenario::training({.shards = 1, .replicas = 1});
  run.shard_dies({.member = 0});
  EXPECT_THAT(run.coordinator_comes_back(), IsEmpty());
  EXPECT_THAT(
      run.shard_joins({.member = 1}),
      ElementsAre("record group/0", "call shard-0.1: serve in view 1, epoch 1.1",
                  "call shard-0.1: open j, bsp, workers 2 of 2, epoch 1.1, replicated",
                  "call shard-0.1: hold no clock of j",
                  "call shard-0.1: open table 0 (j w), chunks 0@0", "answer shard-0.1: ok"));
  EXPECT_THAT(run.answers({}), ElementsAre("tell worker-j-0: shard 0 is shard-0.1, epoch 1.1",
                                           "tell worker-j-1: shard 0 is shard-0.1, epoch 1.1"));
}

TEST(coordinator_shard_scenarios, a_shard_moves_to_another_slot_and_back) {
  auto run = coordinator_scenario::training({.shards = 2, .slots = 1});
  EXPECT_THAT(run.scales_shards(2), ElementsAre("record slots"));
  EXPECT_THAT(run.host_joins({.slot = 1}),
              ElementsAre("record slots", "answer process shard-1: ok",
                          "ask process shard-1 to host shard-1.0"));
  EXPECT_THAT(run.hosted_members_join(),
              ElementsAre("record group/1", "call shard-1.0: follow shard-1.1 in view 1",
                          "call shard-1.0: open j, bsp, workers 2 of 2, no frames, replicated",
                          "call shard-1.0: open table 0 (j w), chunks 1@1",
                          "call shard-1.0: admit rank 0 of j at worker-j-0, life 1, tables 0",
                          "call shard-1.0: admit rank 1 of j at worker-j-1, life 1, tables 0",
                          "answer shard-1.0: ok"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("call shard-1.1: lead shard-1.0 in view 1, hand everything over"));
  EXPECT_THAT(run.answers({}),
              ElementsAre("record group/1", "record group/1", "retire shard-1.1"));
  EXPECT_THAT(run.member_ends({.shard = 1, .member = 1}),
              ElementsAre("record group/1", "call shard-1.0: serve in view 2, epoch 1.2"));
  EXPECT_THAT(run.answers({}), ElementsAre("tell worker-j-0: shard 1 is shard-1.0, epoch 1.2",
                                           "tell worker-j-1: shard 1 is shard-1.0, epoch 1.2"));
  EXPECT_THAT(run.scales_shards(1),
              ElementsAre("record slots", "ask process shard-0 to host shard-1.1#2"));
  EXPECT_THAT(run.hosted_members_join(),
              ElementsAre("record group/1", "call shard-1.1: follow shard-1.0 in view 3",
                          "call shard-1.1: open j, bsp, workers 2 of 2, no frames, replicated",
                          "call shard-1.1: open table 0 (j w), chunks 1@1",
                          "call shard-1.1: admit rank 0 of j at worker-j-0, life 1, tables 0",
                          "call shard-1.1: admit rank 1 of j at worker-j-1, life 1, tables 0",
                          "answer shard-1.1#2: ok"));
  run.answers({});
  EXPECT_THAT(run.answers({}),
              ElementsAre("record group/1", "record group/1", "retire shard-1.0"));
  EXPECT_THAT(run.member_ends({.shard = 1, .member = 0}),
              ElementsAre("record group/1", "call shard-1.1: serve in view 4, epoch 1.4",
                          "end process shard-1"));
}

TEST(coordinator_shard_scenarios, shards_begin_in_the_processes_of_their_slots) {
  coordinator_scenario run({.shards = 3, .slots = 2});
  EXPECT_THAT(run.host_joins({.slot = 0}),
              ElementsAre("record slots", "answer process shard-0: ok",
                          "ask process shard-0 to host shard-0.0",
                          "ask process shard-0 to host shard-2.1"));
  EXPECT_THAT(run.hosted_members_join(), ElementsAre("record group/0", "answer shard-0.0: ok",
                                                     "record group/2", "answer shard-2.1: ok"));
  EXPECT_THAT(run.host_joins({.slot = 1}),
              ElementsAre("record slots", "answer process shard-1: ok",
                          "ask process shard-1 to host shard-1.0"));
  EXPECT_THAT(
      run.hosted_members_join(),
      ElementsAre("record group/1", "record tables/00000000",
                  "call shard-0.0: open j, bsp, workers 2 of 2, epoch 1.0, replicated",
                  "call shard-1.0: open j, bsp, workers 2 of 2, epoch 1.0, replicated",
                  "call shard-2.1: open j, bsp, workers 2 of 2, epoch 1.0, replicated",
                  "call shard-0.0: open table 0 (j w), chunks 0@0",
                  "call shard-1.0: open table 0 (j w), chunks 1@1",
                  "call shard-2.1: open table 0 (j w), chunks 2@2", "answer shard-1.0: ok"));
}

}  // namespace
}  // namespace tidegate::policies
