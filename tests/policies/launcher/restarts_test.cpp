// Processes that die and come back, as the launcher's core decides it.
#include <gmock/gmock.h>

#include "tests/policies/launcher/fixture.hpp"

namespace tidegate::policies::tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(launch_core, a_worker_that_dies_is_started_again) {
  auto run = launched::running_with({{"mlp", 2}}, true);
  run.says({running("mlp")});
  run.ends("worker-mlp-1", ending::by_signal);
  EXPECT_THAT(run.seen(), ElementsAre("poll"));
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), ElementsAre("note process_died: worker-mlp-1 was killed",
                                      "tidegate: worker-mlp-1 was killed; it is started again "
                                      "(incarnation 2)",
                                      "start worker-mlp-1 again, 2"));
  run.ends("worker-mlp-1", ending::bad_status);
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), Contains("tidegate: worker-mlp-1 exited with status 1; it is "
                                   "started again in 100 ms (incarnation 3)"));
  EXPECT_EQ(run.sleeps_ms(), 100);
  run.pass_ms(100);
  EXPECT_THAT(run.seen(), ElementsAre("start worker-mlp-1 again, 3"));
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), Contains("log of worker-mlp-1")) << "two restarts are allowed";
}

TEST(launch_core, under_shrink_the_others_go_on_without_it) {
  auto run = launched::that_shrinks(2);
  run.ends("worker-mlp-1", ending::by_signal);
  EXPECT_THAT(run.seen(), ElementsAre("poll"));
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), ElementsAre("note process_died: worker-mlp-1 was killed",
                                      "tidegate: worker-mlp-1 was killed; job mlp goes on "
                                      "without it",
                                      "leave worker-mlp-1"));
  run.left("worker-mlp-1", {});
  EXPECT_THAT(run.seen(), ElementsAre("note process_left: worker-mlp-1"));
  run.ends("worker-mlp-0", ending::by_signal);
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-0 again, 2")) << "it is the last";
}

TEST(launch_core, one_that_may_not_leave_comes_back) {
  auto run = launched::that_shrinks(2);
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({running("mlp")});
  run.seen();
  run.left("worker-mlp-1", {runtime::errc::refused, "it is the last"});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 2"));
}

TEST(launch_core, more_workers_are_started_and_those_too_many_sent_away) {
  auto run = launched::that_shrinks(2);
  EXPECT_TRUE(run.core().may_scale("mlp"));
  run.scale("mlp", 3);
  EXPECT_THAT(run.seen(), ElementsAre("start worker-mlp-2 to join"));
  run.scale("mlp", 1);
  EXPECT_THAT(run.seen(), ElementsAre("terminate worker-mlp-1", "terminate worker-mlp-2"));
  EXPECT_FALSE(run.core().may_scale("mlp")) << "they may be wanted again";
  run.ends("worker-mlp-2", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("leave worker-mlp-2"));
  run.left("worker-mlp-2", {});
  run.pass_ms(2000);
  EXPECT_THAT(run.seen(), Contains("kill worker-mlp-1")) << "it took no notice";
  run.ends("worker-mlp-1", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("leave worker-mlp-1"));
  run.left("worker-mlp-1", {});
  run.seen();
  EXPECT_TRUE(run.core().may_scale("mlp"));
  run.scale("mlp", 2);
  EXPECT_THAT(run.seen(), ElementsAre("start worker-mlp-1 again, 2 to join"))
      << "it keeps nothing of what it was";
}

TEST(launch_core, slots_of_shards_are_started_and_end_when_they_are_sent_away) {
  auto run = launched::with_moving_shards();
  EXPECT_TRUE(run.core().may_scale_shards());
  run.scale_shards(3);
  EXPECT_THAT(run.seen(), ElementsAre("start shard-1", "start shard-2", "start replica-1",
                                      "start replica-2"));
  run.scale_shards(1);
  EXPECT_TRUE(run.seen().empty()) << "they have shards to give away first";
  run.ends("shard-2");
  run.ends("replica-2");
  EXPECT_TRUE(run.core().is_running());
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("died"))));
  run.scale_shards(2);
  EXPECT_TRUE(run.seen().empty()) << "shard-1 is there";
  run.ends("shard-1");  // it was told to when it was not wanted
  EXPECT_THAT(run.seen(), Contains("start shard-1 again, 2"));
  run.scale_shards(3);
  EXPECT_THAT(run.seen(), ElementsAre("start shard-2 again, 2", "start replica-2 again, 2"));
}

TEST(launch_core, a_process_of_shards_that_dies_comes_back_though_it_is_not_wanted) {
  auto run = launched::with_moving_shards();
  run.scale_shards(2);
  run.scale_shards(1);
  run.seen();
  run.ends("shard-1", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("start shard-1 again, 2"))
      << "the coordinator may wait for what it had";
}

TEST(launch_core, who_goes_back_begins_with_the_slots_of_the_plan) {
  auto run = launched::with_moving_shards(true);
  run.scale_shards(2);
  run.seen();
  for (int death = 0; death < 3; ++death) {
    run.ends("shard-0", ending::by_signal);
    run.pass_ms(1000);
  }
  const auto back = run.seen();
  EXPECT_THAT(back, Contains(HasSubstr("kill shard-1")));
  run.all_end({"coordinator-0", "replica-0", "shard-1", "replica-1", "worker-mlp-0"});
  run.pass_ms(1000);
  run.ready();
  const auto begun = run.seen();
  EXPECT_THAT(begun, Contains(HasSubstr("start shard-0")));
  EXPECT_THAT(begun, Not(Contains(HasSubstr("start shard-1"))));
}

TEST(launch_core, one_that_hangs_is_ended_and_has_died) {
  auto run = launched::running_with({{"mlp", 2}}, true);
  run.says({running("mlp")});
  run.hangs("worker-mlp-1", 2250);
  EXPECT_THAT(run.seen(),
              ElementsAre("note process_hangs: worker-mlp-1 for 2250 ms", "kill worker-mlp-1"));
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(),
              Contains("tidegate: worker-mlp-1 was killed, as it had hung for 2250 ms; it is "
                       "started again (incarnation 2)"));
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), Contains("note process_died: worker-mlp-1 was killed"))
      << "its successor did not hang";
}

TEST(launch_core, who_is_gone_or_being_ended_does_not_hang) {
  auto run = launched::running_with({{"mlp", 1}}, true);
  run.says({running("mlp")});
  run.ends("worker-mlp-0", ending::by_signal);
  run.seen();
  run.hangs("worker-mlp-0", 2000);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.is_interrupted();
  run.seen();
  run.hangs("shard-0", 2000);
  EXPECT_THAT(run.seen(), IsEmpty()) << "the end of a run has limits of its own";
}

TEST(launch_core, the_condemned_is_killed_once_and_its_successor_is_not) {
  auto run = launched::running_with({{"mlp", 2}}, true);
  const condemned_process sentence{
      .name = {.role = process_role::worker, .job = "mlp", .index = 1},
      .incarnation = 1,
      .reason = "it and shard-0 had not reached each other for 10.0 s"};
  run.says({running("mlp")}, {sentence});
  EXPECT_THAT(run.seen(), ElementsAre("kill worker-mlp-1"));
  run.says({running("mlp")}, {sentence});
  EXPECT_THAT(run.seen(), IsEmpty()) << "its end is on its way";
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({running("mlp")}, {sentence});
  EXPECT_THAT(run.seen(),
              Contains("tidegate: worker-mlp-1 was killed, as it and shard-0 had not reached "
                       "each other for 10.0 s; it is started again (incarnation 2)"));
  run.says({running("mlp")}, {sentence});
  EXPECT_THAT(run.seen(), Not(Contains("kill worker-mlp-1")));
}

TEST(launch_core, one_that_rests_is_not_missed_and_does_not_hold_up_the_end) {
  auto run = launched::running_with({{"mlp", 1}}, true);
  run.says({running("mlp")});
  for (int i = 0; i < 2; ++i) {
    run.ends("worker-mlp-0", ending::by_signal);
    run.says({running("mlp", 1)});
  }
  run.seen();
  run.pass_ms(50);
  run.says({done("mlp")});
  EXPECT_THAT(run.seen(), ElementsAre("stop")) << "all was done, though it died before it left";
  run.pass_ms(100);
  EXPECT_THAT(run.seen(), IsEmpty()) << "nothing is started any more";
}

TEST(launch_core, a_shards_death_explains_that_of_a_worker_that_would_come_back) {
  auto run = launched::running_with({{"mlp", 1}}, true);
  run.says({running("mlp")});
  run.ends({{"worker-mlp-0", ending::by_signal}, {"shard-0", ending::by_signal}});
  EXPECT_THAT(run.seen(), Contains("tidegate: shard-0 was killed"));
}

TEST(launch_core, what_ends_the_run_is_not_stopped_by_a_worker_that_rests) {
  auto run = launched::running_with({{"mlp", 2}}, true);
  run.says({running("mlp")});
  for (int i = 0; i < 2; ++i) {
    run.ends("worker-mlp-0", ending::by_signal);
    run.says({running("mlp")});
  }
  run.seen();
  run.is_interrupted();
  run.pass_ms(199);
  run.seen();
  run.pass_ms(1);
  EXPECT_THAT(run.seen(), ElementsAre("terminate coordinator-0", "terminate shard-0",
                                      "terminate worker-mlp-1"));
  run.all_end({"coordinator-0", "shard-0", "worker-mlp-1"});
  EXPECT_THAT(run.seen(), ElementsAre("over: job failed, interrupted by SIGINT"));
}

TEST(launch_core, with_checkpoints_everything_begins_again) {
  auto run = launched::running_with({{"mlp", 1}}, true, true);
  run.says({running("mlp")});
  run.ends("shard-0", ending::by_signal);
  EXPECT_THAT(run.seen(),
              ElementsAre("poll", "note going_back: shard-0 was killed",
                          "tidegate: shard-0 was killed; all jobs go back to their last "
                          "checkpoints (epoch 2)",
                          "kill coordinator-0", "kill worker-mlp-0"));
  run.ends("worker-mlp-0", ending::by_signal);
  EXPECT_THAT(run.seen(), IsEmpty()) << "not before all are gone";
  run.ends("coordinator-0", ending::by_signal);
  EXPECT_THAT(run.seen(), ElementsAre("epoch 2", "start coordinator-0 again, 2"));
  run.ready();
  EXPECT_THAT(run.seen(),
              ElementsAre("start shard-0 again, 2", "start worker-mlp-0 again, 2", "watch"));
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), IsEmpty());
  EXPECT_EQ(run.core().epoch(), 2U);
}

TEST(launch_core, an_aggregator_comes_back_alone_and_too_often_takes_all_back) {
  auto run = launched::with_aggregator();
  run.ends("aggregator-mlp-0", ending::by_signal);
  EXPECT_THAT(run.seen(), ElementsAre("poll", "note process_died: aggregator-mlp-0 was killed",
                                      "tidegate: aggregator-mlp-0 was killed; it is started "
                                      "again (incarnation 2)",
                                      "start aggregator-mlp-0 again, 2"));
  run.ends("aggregator-mlp-0", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("note going_back: aggregator-mlp-0 was killed"));
}

TEST(launch_core, an_aggregator_of_a_job_that_is_done_is_not_missed) {
  auto run = launched::with_aggregator();
  run.says({done("mlp")});
  run.ends("aggregator-mlp-0", ending::by_signal);
  EXPECT_THAT(run.seen(),
              Contains("warning: aggregator-mlp-0 was killed, after it had finished"));
}

TEST(launch_core, a_coordinator_with_a_journal_comes_back_alone) {
  auto run = launched::with_journal(false);
  run.ends("coordinator-0", ending::by_signal);
  EXPECT_THAT(run.seen(), ElementsAre("poll", "note process_died: coordinator-0 was killed",
                                      "tidegate: coordinator-0 was killed; it is started again "
                                      "(incarnation 2)",
                                      "start coordinator-0 again, 2"));
  run.is_silent();
  run.pass_ms(60'000);
  EXPECT_THAT(run.seen(), ElementsAre("note coordinator_silent: timed_out: no answer"))
      << "nobody else is in a hurry";
  run.ready();
  run.says(2, {running("mlp")});
  EXPECT_THAT(run.seen(), IsEmpty());
  run.says(2, {done("mlp")});
  run.ends("worker-mlp-0");
  run.says(2, {done("mlp")});
  EXPECT_THAT(run.seen(), ElementsAre("poll", "stop"));
}

TEST(launch_core, what_workers_do_while_the_coordinator_is_away_is_judged_afterwards) {
  auto run = launched::with_journal(false);
  run.ends("coordinator-0", ending::by_signal);
  run.seen();
  run.ends("worker-mlp-0", ending::by_signal);
  run.pass_ms(30'000);
  EXPECT_THAT(run.seen(), ElementsAre("poll")) << "it may have finished";
  run.says(1, {running("mlp")});
  EXPECT_THAT(run.seen(), IsEmpty()) << "an answer of the one that is dead";
  run.says(2, {running("mlp")});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-0 again, 2"));
}

TEST(launch_core, workers_that_have_left_wait_for_the_next_coordinators_word) {
  auto run = launched::with_journal(false);
  run.ends("coordinator-0", ending::by_signal);
  run.ends("worker-mlp-0");
  run.seen();
  run.pass_ms(30'000);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.says(2, {running("mlp")});
  run.pass_ms(4'999);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.pass_ms(1);
  EXPECT_THAT(run.seen(), Contains(HasSubstr("did they call finish()?")));
}

// Found by simulation: the worker's end waited for a coordinator that came back for nobody.
TEST(launch_core, a_worker_killed_while_the_coordinator_rests_at_the_end_is_the_last) {
  auto run = launched::with_journal(false);
  run.ends("coordinator-0", ending::by_signal);
  run.ready();
  run.says(2, {done("mlp")});
  run.seen();
  run.ends("coordinator-0", ending::by_signal);
  run.is_silent();
  EXPECT_THAT(run.seen(), Contains(HasSubstr("it is started again in 100 ms")));
  run.ends("worker-mlp-0", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("stop"));
  run.pass_ms(4000);
  run.ends("shard-0");
  EXPECT_THAT(run.seen(), Contains(HasSubstr("over: done")));
}

TEST(launch_core, at_the_end_it_comes_back_for_workers_that_are_still_there) {
  auto run = launched::with_journal(false);
  run.says(1, {done("mlp")});
  run.ends("coordinator-0", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("start coordinator-0 again, 2"));
  run.ends("worker-mlp-0");
  EXPECT_THAT(run.seen(), ElementsAre("poll", "stop"));
}

TEST(launch_core, a_coordinator_that_is_killed_before_it_listens_comes_back_too) {
  auto run = launched::with_journal_starting();
  run.ends("coordinator-0", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("start coordinator-0 again, 2"));
  run.ready();
  EXPECT_THAT(run.seen(), ElementsAre("start shard-0", "start worker-mlp-0", "watch"));
  auto other = launched::with_journal_starting();
  other.ends("coordinator-0", ending::bad_status);
  other.pass_ms(150);
  EXPECT_THAT(other.seen(), Contains("log of coordinator-0")) << "its port may be in use";
}

TEST(launch_core, a_coordinator_that_dies_too_often_ends_the_run) {
  auto run = launched::with_journal(false);
  for (std::uint32_t incarnation = 2; incarnation < 4; ++incarnation) {
    run.ends("coordinator-0", ending::bad_status);
    run.pass_ms(1000);
    run.says(incarnation, {running("mlp")});
  }
  run.seen();
  run.ends("coordinator-0", ending::bad_status);
  run.pass_ms(150);
  EXPECT_THAT(run.seen(), Contains("log of coordinator-0"));
}

TEST(launch_core, with_checkpoints_one_that_dies_too_often_leaves_its_journal) {
  auto run = launched::with_journal(true);
  for (std::uint32_t incarnation = 2; incarnation < 4; ++incarnation) {
    run.ends("coordinator-0", ending::by_signal);
    run.pass_ms(1000);
    run.says(incarnation, {running("mlp")});
  }
  run.seen();
  run.ends("coordinator-0", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("kill shard-0"));
  run.all_end({"shard-0", "worker-mlp-0"});
  EXPECT_THAT(run.seen(), ElementsAre("epoch 2", "start coordinator-0 again, 4"));
}

}  // namespace
}  // namespace tidegate::policies::tests
