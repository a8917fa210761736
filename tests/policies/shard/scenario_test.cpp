// A shard and its workers, as scripts: what happens, and each effect of it.
#include "tests/policies/shard/scenario.hpp"

#include <gmock/gmock.h>

namespace tidegate::policies {
namespace {

using namespace tests;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr consistency_spec async{consistency_kind::async, 0};

TEST(shard_scenarios, two_bsp_workers_push_and_a_pull_that_waits_is_answered) {
  shard_scenario run({});
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 0}), IsEmpty());
  EXPECT_THAT(run.pulls({.rank = 1, .clock = 1}), IsEmpty()) << "of a version to come";
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 0}),
      ElementsAre(
          "step chunk 0: 0/0 + 1/0 of 2, plane 0 to 0", "release 0/0", "ack 0/0 of chunk 0",
          "release 1/0",
          "answer pull 1/1 of chunk 0: version 1 in plane 0, all below 1, and ack the push"));
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 1}),
              ElementsAre("answer pull 0/1 of chunk 0: version 1 in plane 0, all below 1"));
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 0}),
              ElementsAre("refuse pull 0/0 of chunk 0: version no longer there"));
  EXPECT_EQ(run.payloads(), 0U);
}

TEST(shard_scenarios, an_answer_to_an_exchange_acknowledges_its_push) {
  shard_scenario run({});
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 0, .pulls = true}), IsEmpty());
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 0, .pulls = true}),
      ElementsAre(
          "step chunk 0: 0/0 + 1/0 of 2, plane 0 to 0", "release 0/0", "release 1/0",
          "answer pull 0/1 of chunk 0: version 1 in plane 0, all below 1, and ack the push",
          "answer pull 1/1 of chunk 0: version 1 in plane 0, all below 1, and ack the push"));
}

TEST(shard_scenarios, a_clock_that_all_skip_makes_no_step) {
  shard_scenario run({});
  EXPECT_THAT(run.skips({.rank = 0, .clock = 0}), IsEmpty());
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 1}), IsEmpty());
  EXPECT_THAT(
      run.skips({.rank = 1, .clock = 0}),
      ElementsAre(
          "ack 1/0 of chunk 0",
          "answer pull 0/1 of chunk 0: version 1 in plane 0, all below 1, and ack the push"));
}

TEST(shard_scenarios, an_ssp_worker_waits_for_others_that_are_too_far_behind) {
  shard_scenario run({.policy = {consistency_kind::ssp, 1}});
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 0}),
      ElementsAre("step chunk 0: 0/0 of 2, plane 0 to 0", "release 0/0", "ack 0/0 of chunk 0"));
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 1}),
              ElementsAre("answer pull 0/1 of chunk 0: version 1 in plane 0, all below 0"));
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 1}),
      ElementsAre("step chunk 0: 0/1 of 2, plane 0 to 0", "release 0/1", "ack 0/1 of chunk 0"));
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 2}), IsEmpty());
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 0}),
      ElementsAre("step chunk 0: 1/0 of 2, plane 0 to 0", "release 1/0", "ack 1/0 of chunk 0",
                  "answer pull 0/2 of chunk 0: version 3 in plane 0, all below 1"));
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 2}),
      ElementsAre("step chunk 0: 0/2 of 2, plane 0 to 0", "release 0/2", "ack 0/2 of chunk 0"));
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 3}), IsEmpty());
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 1}),
      ElementsAre("step chunk 0: 1/1 of 2, plane 0 to 0", "release 1/1", "ack 1/1 of chunk 0",
                  "answer pull 0/3 of chunk 0: version 5 in plane 0, all below 2"));
}

TEST(shard_scenarios, pulls_that_are_not_due_stay_when_others_push) {
  shard_scenario run({.ranks = 4});
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    run.pushes({.rank = rank, .clock = 0});
    run.pushes({.rank = rank, .clock = 1});
    EXPECT_THAT(run.pulls({.rank = rank, .clock = 2}), IsEmpty());
  }
  EXPECT_THAT(run.skips({.rank = 3, .clock = 0}),
              ElementsAre("step chunk 0: 0/0 + 1/0 + 2/0 of 4, plane 0 to 0", "release 0/0",
                          "ack 0/0 of chunk 0", "release 1/0", "ack 1/0 of chunk 0",
                          "release 2/0", "ack 2/0 of chunk 0", "ack 3/0 of chunk 0"));
  EXPECT_THAT(
      run.skips({.rank = 3, .clock = 1}),
      ElementsAre(
          "step chunk 0: 0/1 + 1/1 + 2/1 of 4, plane 0 to 0", "release 0/1", "release 1/1",
          "release 2/1", "ack 3/1 of chunk 0",
          "answer pull 0/2 of chunk 0: version 2 in plane 0, all below 2, and ack the push",
          "answer pull 1/2 of chunk 0: version 2 in plane 0, all below 2, and ack the push",
          "answer pull 2/2 of chunk 0: version 2 in plane 0, all below 2, and ack the push"));
}

TEST(shard_scenarios, a_pull_of_everything_waits_for_all) {
  shard_scenario run({.policy = async});
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 1, .is_final = true}), IsEmpty());
  run.pushes({.rank = 0, .clock = 0});
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 0}),
      ElementsAre("step chunk 0: 1/0 of 2, plane 0 to 0", "release 1/0", "ack 1/0 of chunk 0",
                  "answer pull 0/1 of chunk 0: version 2 in plane 0, all below 1"));
}

TEST(shard_scenarios, a_pull_that_comes_twice_is_answered_once) {
  shard_scenario run({});
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 0}),
              ElementsAre("answer pull 0/0 of chunk 0: version 0 in plane 0, all below 0"));
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 0, .again = true}), IsEmpty());
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 0}),
              ElementsAre("answer pull 0/0 of chunk 0: version 0 in plane 0, all below 0"))
      << "it asks anew";
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 1}), IsEmpty());
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 2}),
              ElementsAre("refuse pull 0/2 of chunk 0: a pull of this chunk is under way"))
      << "one at a time";
}

TEST(shard_scenarios, an_async_worker_waits_for_nobody) {
  shard_scenario run({.policy = async});
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 0}),
      ElementsAre("step chunk 0: 0/0 of 2, plane 0 to 0", "release 0/0", "ack 0/0 of chunk 0"));
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 1}),
      ElementsAre("step chunk 0: 0/1 of 2, plane 0 to 0", "release 0/1", "ack 0/1 of chunk 0"));
  EXPECT_THAT(run.pulls({.rank = 0, .clock = 2}),
              ElementsAre("answer pull 0/2 of chunk 0: version 2 in plane 0, all below 0"));
  EXPECT_THAT(run.pulls({.rank = 1, .clock = 0}),
              ElementsAre("answer pull 1/0 of chunk 0: version 2 in plane 0, all below 0"));
}

TEST(shard_scenarios, a_duplicate_of_a_push_is_counted_once) {
  shard_scenario run({});
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 0}), IsEmpty());
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 0}), ElementsAre("release 0/0 again"))
      << "it is held";
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 0, .announced = true}), ElementsAre("drop 0/0"));
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 0}),
              ElementsAre("step chunk 0: 0/0 + 1/0 of 2, plane 0 to 0", "release 0/0",
                          "ack 0/0 of chunk 0", "release 1/0", "ack 1/0 of chunk 0"));
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 0}),
              ElementsAre("release 0/0", "ack 0/0 of chunk 0"))
      << "it is applied";
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 0, .announced = true}),
              ElementsAre("ack at once 0/0"));
  EXPECT_EQ(run.payloads(), 0U);
}

TEST(shard_scenarios, a_push_that_comes_early_waits_for_those_before_it) {
  shard_scenario run({.policy = async});
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 2}),
      ElementsAre("release 0/2", "refuse 0/2 of chunk 0: push beyond the credit window"))
      << "more than may be held";
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 1}), IsEmpty());
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 0}),
      ElementsAre("step chunk 0: 0/0 of 2, plane 0 to 0", "release 0/0", "ack 0/0 of chunk 0",
                  "step chunk 0: 0/1 of 2, plane 0 to 0", "release 0/1", "ack 0/1 of chunk 0"));
}

TEST(shard_scenarios, a_ring_pushes_and_pulls_all_chunks_of_a_table) {
  shard_scenario run({.chunks = 2});
  EXPECT_THAT(run.in_place({.rank = 0, .clock = 0}), IsEmpty());
  EXPECT_THAT(run.in_place({.rank = 1, .clock = 0, .pull = false}),
              ElementsAre("step chunk 0: 0/0.0 + 1/0.0 of 2, plane 0 to 0", "release 0/0.0",
                          "release 1/0.0", "step chunk 1: 0/0.1 + 1/0.1 of 2, plane 0 to 0",
                          "release 0/0.1", "release 1/0.1", "ack ring 1/0 of chunks 0-1",
                          "answer ring pull 0/1 of chunks 0-1: version 1 in plane 0, all below "
                          "1, and ack the push"));
  EXPECT_THAT(
      run.in_place({.rank = 1, .clock = 1, .push = false}),
      ElementsAre("answer ring pull 1/1 of chunks 0-1: version 1 in plane 0, all below 1"));
  EXPECT_THAT(run.in_place({.rank = 0, .clock = 1}), IsEmpty());
  EXPECT_THAT(run.in_place({.rank = 1, .clock = 1}),
              ElementsAre("step chunk 0: 0/1.0 + 1/1.0 of 2, plane 0 to 0", "release 0/1.0",
                          "release 1/1.0", "step chunk 1: 0/1.1 + 1/1.1 of 2, plane 0 to 0",
                          "release 0/1.1", "release 1/1.1",
                          "answer ring pull 0/2 of chunks 0-1: version 2 in plane 0, all below "
                          "2, and ack the push",
                          "answer ring pull 1/2 of chunks 0-1: version 2 in plane 0, all below "
                          "2, and ack the push"));
}

TEST(shard_scenarios, a_step_goes_to_another_version_buffer_while_a_worker_reads_in_place) {
  shard_scenario run({.policy = async, .ranks = 2});
  EXPECT_THAT(
      run.in_place({.rank = 0, .clock = 0, .push = false}),
      ElementsAre("answer ring pull 0/0 of chunks 0-0: version 0 in plane 0, all below 0"));
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 0}),
      ElementsAre("step chunk 0: 1/0 of 2, plane 0 to 1", "release 1/0", "ack 1/0 of chunk 0"));
  EXPECT_THAT(run.in_place({.rank = 0, .clock = 0}),
              ElementsAre("step chunk 0: 0/0.0 of 2, plane 1 to 1", "release 0/0.0",
                          "answer ring pull 0/1 of chunks 0-0: version 2 in plane 1, all below "
                          "1, and ack the push"))
      << "it reads no more";
}

TEST(shard_scenarios, a_late_copy_of_a_push_does_not_end_what_its_worker_reads) {
  shard_scenario run({.policy = async});
  run.in_place({.rank = 0, .clock = 0});
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 0}),
              ElementsAre("release 0/0", "ack 0/0 of chunk 0"));
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 0}),
      ElementsAre("step chunk 0: 1/0 of 2, plane 0 to 1", "release 1/0", "ack 1/0 of chunk 0"));
}

TEST(shard_scenarios, a_worker_that_comes_back_goes_on_where_its_last_chunk_is) {
  shard_scenario run({.policy = async, .chunks = 2});
  run.pushes({.rank = 0, .clock = 0, .chunk = 0});
  run.pushes({.rank = 0, .clock = 1, .chunk = 0});
  run.pushes({.rank = 0, .clock = 0, .chunk = 1});
  EXPECT_THAT(run.admits({.rank = 0, .incarnation = 2}), ElementsAre("admit 0#2 at clock 1"));
}

TEST(shard_scenarios, a_worker_that_comes_back_goes_on_where_the_one_before_was) {
  shard_scenario run({.workers_come_back = true});
  run.pushes({.rank = 0, .clock = 0});
  run.pushes({.rank = 1, .clock = 0});
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 1}), IsEmpty());
  EXPECT_THAT(run.pulls({.rank = 1, .clock = 2}), IsEmpty());
  EXPECT_THAT(run.admits({.rank = 1, .incarnation = 2}), ElementsAre("admit 1#2 at clock 1"));
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 1}),
      ElementsAre(
          "release 1/1 again",
          "refuse 1/1 of chunk 0: worker not admitted, or another incarnation of it was"))
      << "a late frame";
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 1}),
              ElementsAre("step chunk 0: 0/1 + 1/1 of 2, plane 1 to 0", "release 0/1",
                          "ack 0/1 of chunk 0", "release 1/1", "ack 1#2/1 of chunk 0"));
  EXPECT_THAT(run.pulls({.rank = 1, .clock = 1, .incarnation = 2}),
              ElementsAre("answer pull 1#2/1 of chunk 0: version 1 in plane 1, all below 1"));
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 1, .incarnation = 2}),
              ElementsAre("release 1#2/1", "ack 1#2/1 of chunk 0"));
  EXPECT_THAT(run.pulls({.rank = 1, .clock = 2, .incarnation = 2}),
              ElementsAre("answer pull 1#2/2 of chunk 0: version 2 in plane 0, all below 2"));
  EXPECT_THAT(run.admits({.rank = 1, .incarnation = 1}),
              ElementsAre("refuse 1: worker not admitted, or another incarnation of it was"));
}

TEST(shard_scenarios, the_others_go_on_without_a_worker_that_leaves) {
  shard_scenario run({});
  run.pushes({.rank = 1, .clock = 0});
  run.pushes({.rank = 0, .clock = 0});
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 1, .pulls = true}), IsEmpty());
  EXPECT_THAT(run.shuts_out(1), ElementsAre("rank 1 has pushed below clock 1"));
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 1}),
      ElementsAre(
          "release 1/1",
          "refuse 1/1 of chunk 0: worker not admitted, or another incarnation of it was"));
  EXPECT_THAT(
      run.leaves({.rank = 1, .clock = 1}),
      ElementsAre("step chunk 0: 0/1 of 1, plane 0 to 0", "release 0/1", "ack 0/1 of chunk 0",
                  "answer pull 0/2 of chunk 0: version 2 in plane 0, all below 2"));
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 2}),
      ElementsAre("step chunk 0: 0/2 of 1, plane 0 to 0", "release 0/2", "ack 0/2 of chunk 0"));
  EXPECT_EQ(run.payloads(), 0U);
}

TEST(shard_scenarios, a_clock_is_held_for_a_worker_that_joins) {
  shard_scenario run({.ranks = 3, .contributors = 2});
  EXPECT_THAT(run.admits({.rank = 2}),
              ElementsAre("refuse 2: worker not admitted, or another incarnation of it was"))
      << "it pushes nothing so far";
  run.pushes({.rank = 0, .clock = 0});
  run.pushes({.rank = 1, .clock = 0});
  EXPECT_THAT(run.holds({.rank = 2, .clock = 0}), ElementsAre("do not hold: at clock 1"));
  EXPECT_THAT(run.holds({.rank = 2, .clock = 1}), ElementsAre("hold clock 1"));
  EXPECT_THAT(run.pushes({.rank = 0, .clock = 1, .pulls = true}), IsEmpty());
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 1}), IsEmpty()) << "rank 2 is waited for";
  EXPECT_THAT(run.joins({.rank = 2, .clock = 1}), IsEmpty());
  EXPECT_THAT(run.admits({.rank = 2}), ElementsAre("admit 2 at clock 1"));
  EXPECT_THAT(
      run.pushes({.rank = 2, .clock = 1}),
      ElementsAre(
          "step chunk 0: 0/1 + 1/1 + 2/1 of 3, plane 0 to 0", "release 0/1", "release 1/1",
          "ack 1/1 of chunk 0", "release 2/1", "ack 2/1 of chunk 0",
          "answer pull 0/2 of chunk 0: version 2 in plane 0, all below 2, and ack the push"));
}

TEST(shard_scenarios, a_hold_that_is_lifted_lets_those_go_on_who_waited) {
  shard_scenario run({.ranks = 3, .contributors = 2});
  EXPECT_THAT(run.holds({.rank = 2, .clock = 0}), ElementsAre("hold clock 0"));
  run.pushes({.rank = 0, .clock = 0});
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 0}), IsEmpty());
  EXPECT_THAT(run.holds({.rank = 0, .clock = clock_vector::infinity}),
              ElementsAre("step chunk 0: 0/0 + 1/0 of 2, plane 0 to 0", "release 0/0",
                          "ack 0/0 of chunk 0", "release 1/0", "ack 1/0 of chunk 0",
                          "hold clock infinity"));
}

TEST(shard_scenarios, a_bsp_chunk_is_copied_at_the_clock_of_a_checkpoint) {
  shard_scenario run({.chunks = 2});
  EXPECT_THAT(run.copies_at(1), IsEmpty());
  run.pushes({.rank = 0, .clock = 0});
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 0}),
              ElementsAre("step chunk 0: 0/0 + 1/0 of 2, plane 0 to 0", "release 0/0",
                          "ack 0/0 of chunk 0", "release 1/0", "ack 1/0 of chunk 0",
                          "copy chunk 0 in plane 0: version 1, ranks at 1 1"));
  run.pushes({.rank = 0, .clock = 0, .chunk = 1});
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 0, .chunk = 1}),
              ElementsAre("step chunk 1: 0/0 + 1/0 of 2, plane 0 to 0", "release 0/0",
                          "ack 0/0 of chunk 1", "release 1/0", "ack 1/0 of chunk 1",
                          "copy chunk 1 in plane 0: version 1, ranks at 1 1"));
  run.pushes({.rank = 0, .clock = 1});
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 1}),
              ElementsAre("step chunk 0: 0/1 + 1/1 of 2, plane 0 to 0", "release 0/1",
                          "ack 0/1 of chunk 0", "release 1/1", "ack 1/1 of chunk 0"))
      << "copied once";
  EXPECT_THAT(run.copies_at(1), ElementsAre("copy nothing: at version 2")) << "it is past that";
}

TEST(shard_scenarios, an_ssp_chunk_is_copied_when_all_have_come_to_the_clock) {
  shard_scenario run({.policy = {consistency_kind::ssp, 3}});
  run.pushes({.rank = 0, .clock = 0});
  EXPECT_THAT(run.copies_at(1), IsEmpty());
  EXPECT_THAT(
      run.pushes({.rank = 0, .clock = 1}),
      ElementsAre("step chunk 0: 0/1 of 2, plane 0 to 0", "release 0/1", "ack 0/1 of chunk 0"));
  EXPECT_THAT(
      run.pushes({.rank = 1, .clock = 0}),
      ElementsAre("step chunk 0: 1/0 of 2, plane 0 to 0", "release 1/0", "ack 1/0 of chunk 0",
                  "copy chunk 0 in plane 0: version 3, ranks at 2 1"));
}

TEST(shard_scenarios, the_last_checkpoint_is_copied_when_all_have_finished) {
  shard_scenario run({});
  run.pushes({.rank = 0, .clock = 0});
  run.pushes({.rank = 1, .clock = 0});
  EXPECT_THAT(run.copies_at(clock_vector::infinity), IsEmpty());
  EXPECT_THAT(run.finishes({.rank = 0}), ElementsAre("ack farewell of 0"));
  EXPECT_THAT(
      run.finishes({.rank = 1}),
      ElementsAre("copy chunk 0 in plane 0: version 1, ranks at 1! 1!", "ack farewell of 1"));
}

TEST(shard_scenarios, a_job_that_ends_refuses_all_who_wait) {
  shard_scenario run({});
  run.pushes({.rank = 0, .clock = 0});
  run.pulls({.rank = 0, .clock = 1});
  EXPECT_THAT(run.closes(),
              ElementsAre("release 0/0", "refuse 0/0 of chunk 0: the job has ended",
                          "refuse pull 0/1 of chunk 0: the job has ended"));
  EXPECT_THAT(run.pushes({.rank = 1, .clock = 0}),
              ElementsAre("release 1/0", "refuse 1/0 of chunk 0: the job has ended"));
  EXPECT_EQ(run.payloads(), 0U);
}

}  // namespace
}  // namespace tidegate::policies
