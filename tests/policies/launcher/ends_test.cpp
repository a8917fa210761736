// How a run ends once its jobs are done, or when somebody interrupts it, as the launcher's core
// decides it.
#include <gmock/gmock.h>

#include "tests/policies/launcher/fixture.hpp"

namespace tidegate::policies::tests {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(launch_core, a_worker_that_lingers_after_all_jobs_is_ended_and_the_run_is_done) {
  auto run = launched::running_with({{"mlp", 2}});
  run.says({done("mlp")});
  run.ends("worker-mlp-1");
  run.seen();
  EXPECT_EQ(run.sleeps_ms(), 30'000) << "cluster.start_timeout";
  run.pass_ms(29'999);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.pass_ms(1);
  EXPECT_THAT(run.seen(), ElementsAre("note worker_lingers: worker-mlp-0 has not left within "
                                      "30s of the end of all jobs (cluster.start_timeout)",
                                      "terminate worker-mlp-0"));
  run.pass_ms(2000);
  EXPECT_THAT(run.seen(),
              ElementsAre("note process_killed: worker-mlp-0", "kill worker-mlp-0"));
  run.ends("worker-mlp-0", ending::by_signal);
  run.says({done("mlp")});
  EXPECT_THAT(run.seen(), Contains("stop"));
  run.all_end({"coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: done"));
}

TEST(launch_core, nodes_have_their_own_time_after_a_worker_that_lingered) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({done("mlp")});
  run.pass_ms(31'000);
  run.ends("worker-mlp-0", ending::by_signal);
  run.says({done("mlp")});
  run.seen();
  EXPECT_EQ(run.sleeps_ms(), 2000);
  run.pass_ms(2000);
  EXPECT_THAT(run.seen(), ElementsAre("terminate coordinator-0", "terminate shard-0"));
}

TEST(launch_core, interrupted_while_a_worker_lingers_the_run_is_done) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({done("mlp")});
  run.is_interrupted();
  EXPECT_THAT(run.seen(), ElementsAre("note ending: interrupted by SIGINT",
                                      "tidegate: interrupted by SIGINT", "stop"));
  run.pass_ms(200);
  EXPECT_THAT(run.seen(), Contains("terminate worker-mlp-0"));
  run.all_end({"coordinator-0", "shard-0", "worker-mlp-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: done, interrupted by SIGINT"));
  EXPECT_EQ(run.core().result()[0].state, job_state::done);
}

TEST(launch_core, interrupted_before_the_news_that_all_is_done_the_run_is_done) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({running("mlp")});
  run.is_interrupted();
  run.says({done("mlp")});
  run.seen();
  run.all_end({"coordinator-0", "shard-0", "worker-mlp-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: done, interrupted by SIGINT"));
}

TEST(launch_core, interrupted_jobs_are_interrupted_and_those_that_have_ended_stay_as_they_are) {
  auto run = launched::running_with({{"mlp", 1}, {"cnn", 1}, {"odd", 1}});
  run.says({done("mlp"), running("cnn"), failed("odd", "NaN in fc1")});
  run.is_interrupted();
  // The coordinator has been told of the end.
  run.says({done("mlp"), failed("cnn", "interrupted by SIGINT"), failed("odd", "NaN in fc1")});
  const auto jobs = run.core().result();
  EXPECT_EQ(jobs[0].state, job_state::done);
  EXPECT_EQ(jobs[1].state, job_state::interrupted);
  EXPECT_EQ(jobs[1].failure, "interrupted by SIGINT");
  EXPECT_EQ(jobs[2].state, job_state::failed);
  EXPECT_TRUE(run.core().is_interrupted());
  EXPECT_EQ(run.core().outcome(), run_outcome::job_failed);
}

TEST(launch_core, a_coordinator_that_dies_too_often_after_all_jobs_takes_nothing_back) {
  auto run = launched::with_journal(true);
  run.says(1, {done("mlp")});
  for (std::uint32_t incarnation = 2; incarnation < 4; ++incarnation) {
    run.ends("coordinator-0", ending::by_signal);
    run.pass_ms(1000);
    run.says(incarnation, {done("mlp")});
  }
  run.seen();
  run.ends("coordinator-0", ending::by_signal);
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains("warning: coordinator-0 was killed, after all jobs were done"));
  EXPECT_THAT(seen, Not(Contains(HasSubstr("going_back"))));
  run.ends("worker-mlp-0");
  EXPECT_THAT(run.seen(), Contains("stop"));
}

TEST(launch_core, an_epoch_that_is_not_on_record_is_tried_again_when_there_may_be_room) {
  auto run = launched::running_with({{"mlp", 1}}, true, true);
  run.says({running("mlp")});
  run.ends("shard-0", ending::by_signal);
  run.seen();
  run.has_disk({runtime::errc::no_space, "epochs: the disk is full"});
  run.all_end({"worker-mlp-0", "coordinator-0"});
  auto seen = run.seen();
  EXPECT_EQ(seen.front(), "epoch 2");
  EXPECT_THAT(seen.back(), HasSubstr("the disk is full; it is tried again"));
  run.pass_ms(1);
  EXPECT_THAT(run.seen(), IsEmpty()) << "not before its pause is over";
  run.has_disk({});
  run.pass_ms(10'000);
  EXPECT_THAT(run.seen(), ElementsAre("epoch 3", "start coordinator-0 again, 2"));
}

TEST(launch_core, a_run_ends_whose_epoch_is_never_on_record) {
  auto run = launched::running_with({{"mlp", 1}}, true, true);
  run.says({running("mlp")});
  run.ends("shard-0", ending::by_signal);
  run.has_disk({runtime::errc::no_space, "epochs: the disk is full"});
  run.all_end({"worker-mlp-0", "coordinator-0"});
  for (int i = 0; i < 20; ++i) run.pass_ms(500);
  const auto seen = run.seen();
  EXPECT_THAT(seen.back(), AllOf(HasSubstr("over: process died"), HasSubstr("the disk is full"),
                                 HasSubstr("times within")));
}

}  // namespace
}  // namespace tidegate::policies::tests
