// What the launcher's core does about an interrupt when jobs have checkpoints.
#include <gmock/gmock.h>

#include "tests/policies/launcher/fixture.hpp"

namespace tidegate::policies {
namespace {

using namespace tests;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string interrupt = "interrupted by SIGINT";
const lines begins_to_save = {"note saving: " + interrupt,
                              "tidegate: " + interrupt +
                                  ": writing a last checkpoint, which may take 30s "
                                  "(cluster.start_timeout); Ctrl-C again to leave at once",
                              "save mlp", "poll"};
const lines ended_by_it = {"note ending: " + interrupt, "tidegate: " + interrupt,
                           "stop, mlp has failed: " + interrupt};

TEST(launch_last_checkpoint, the_run_ends_when_it_is_written) {
  auto run = launched::with_checkpoints();
  run.is_interrupted();
  EXPECT_EQ(run.seen(), begins_to_save);
  EXPECT_EQ(run.sleeps_ms(), 30'000);
  run.says({at_clock("mlp", 4)});
  EXPECT_THAT(run.seen(), IsEmpty()) << "training goes on to the clock of the checkpoint";
  run.says({at_clock("mlp", 6, true)});
  EXPECT_EQ(run.seen(), ended_by_it);
  EXPECT_EQ(run.sleeps_ms(), 200);
  EXPECT_TRUE(run.core().is_interrupted());
  EXPECT_EQ(run.core().result()[0].state, job_state::interrupted);
}

TEST(launch_last_checkpoint, asked_twice_everything_ends_at_once) {
  auto run = launched::with_checkpoints();
  run.is_interrupted();
  run.seen();
  run.is_interrupted();
  const auto seen = run.seen();
  EXPECT_EQ(lines(seen.begin(), seen.begin() + 3), ended_by_it);
  EXPECT_THAT(seen, Contains("kill worker-mlp-0"));
}

TEST(launch_last_checkpoint, asked_to_terminate_meanwhile_everything_ends_at_once) {
  auto run = launched::with_checkpoints();
  run.is_interrupted();
  run.seen();
  run.is_terminated();
  EXPECT_THAT(run.seen(), Contains("kill worker-mlp-0"));
}

TEST(launch_last_checkpoint, it_is_not_waited_for_without_bound) {
  auto run = launched::with_checkpoints();
  run.is_interrupted();
  run.says({at_clock("mlp", 3)});
  run.seen();
  run.pass_ms(29'999);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.pass_ms(1);
  auto seen = run.seen();
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[0], "tidegate: no last checkpoint within 30s (cluster.start_timeout)");
  seen.erase(seen.begin());
  EXPECT_EQ(seen, ended_by_it);
}

TEST(launch_last_checkpoint, a_signal_that_is_no_interrupt_ends_the_run) {
  auto run = launched::with_checkpoints();
  run.is_terminated();
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("save"))));
  EXPECT_EQ(run.sleeps_ms(), 200);
}

TEST(launch_last_checkpoint, a_job_that_has_made_no_clock_has_nothing_to_save) {
  auto run = launched::with_checkpoints();
  run.says({at_clock("mlp", 0)});
  run.is_interrupted();
  EXPECT_EQ(run.seen(), begins_to_save) << "it may have made one since";
  run.says_of_before({at_clock("mlp", 0)});
  EXPECT_THAT(run.seen(), IsEmpty());
  run.says({at_clock("mlp", 0)});
  EXPECT_EQ(run.seen(), ended_by_it);
}

TEST(launch_last_checkpoint, a_job_that_has_made_its_first_clock_unheard_is_saved) {
  auto run = launched::with_checkpoints();
  run.says({at_clock("mlp", 0)});
  run.is_interrupted();
  run.seen();
  run.says({at_clock("mlp", 2)});
  EXPECT_THAT(run.seen(), IsEmpty());
  run.says({at_clock("mlp", 4, true)});
  EXPECT_EQ(run.seen(), ended_by_it);
}

TEST(launch_last_checkpoint, a_coordinator_that_comes_back_is_asked_again) {
  auto run = launched::with_checkpoints();
  run.is_interrupted();
  run.ends("coordinator-0", ending::by_signal);
  run.seen();
  run.says(2, {at_clock("mlp", 5)});
  EXPECT_THAT(run.seen(), ElementsAre("save mlp"));
  run.says(2, {at_clock("mlp", 7, true)});
  EXPECT_EQ(run.seen(), ended_by_it);
}

TEST(launch_last_checkpoint, a_job_that_fails_meanwhile_says_why) {
  auto run = launched::with_checkpoints();
  run.is_interrupted();
  run.seen();
  run.says({failed("mlp", "the disk is full")});
  EXPECT_THAT(run.seen(), IsEmpty()) << "a death may explain it";
  run.pass_ms(150);
  EXPECT_THAT(run.seen(), Contains("tidegate: job mlp failed: the disk is full"));
}

TEST(launch_last_checkpoint, a_job_that_is_done_meanwhile_is_done) {
  auto run = launched::with_checkpoints();
  run.is_interrupted();
  run.seen();
  run.says({done("mlp")});
  run.ends("worker-mlp-0");
  run.says({done("mlp")});
  EXPECT_THAT(run.seen(), Contains("stop"));
  run.all_end({"coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: done"));
}

}  // namespace
}  // namespace tidegate::policies
