// Jobs that end before the run does, as the launcher's core decides it.
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

launched two_jobs(bool workers_come_back = false, bool goes_back = false) {
  auto run = launched::running_with({{"mlp", 1}, {"cnn", 2}}, workers_come_back, goes_back);
  run.says({running("mlp"), running("cnn")});
  run.seen();
  return run;
}

TEST(launch_core, a_job_that_fails_ends_alone) {
  auto run = two_jobs();
  run.says({running("mlp"), failed("cnn", "NaN in fc1")});
  EXPECT_THAT(run.seen(), IsEmpty()) << "a death may explain it";
  run.pass_ms(150);
  EXPECT_THAT(run.seen(), ElementsAre("note job_ending: cnn: job cnn failed: NaN in fc1",
                                      "tidegate: job cnn failed: NaN in fc1; other jobs go on"))
      << "the coordinator knows";
  run.ends("worker-cnn-1", ending::bad_status);
  run.pass_ms(200);
  EXPECT_THAT(run.seen(), ElementsAre("poll", "terminate worker-cnn-0"));
  run.pass_ms(1000);
  EXPECT_THAT(run.seen(),
              ElementsAre("note process_killed: worker-cnn-0", "kill worker-cnn-0"));
  run.ends("worker-cnn-0", ending::by_signal);
  run.says({running("mlp"), failed("cnn", "NaN in fc1")});
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("worker-mlp-0"))));

  run.says({done("mlp"), failed("cnn", "NaN in fc1")});
  EXPECT_EQ(run.sleeps_ms(), 30'000) << "it may take its time to leave";
  run.ends("worker-mlp-0");
  run.says({done("mlp"), failed("cnn", "NaN in fc1")});
  EXPECT_THAT(run.seen(), Contains("stop"));
  run.all_end({"coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: job failed, job cnn failed: NaN in fc1"));
  EXPECT_EQ(run.core().result()[0].state, job_state::done);
  EXPECT_EQ(run.core().result()[1].failure, "NaN in fc1");
}

TEST(launch_core, a_worker_that_nobody_replaces_ends_its_job_alone) {
  auto run = two_jobs();
  run.ends("worker-cnn-0", ending::by_signal);
  run.says({running("mlp"), running("cnn")});
  EXPECT_THAT(run.seen(),
              ElementsAre("poll", "note job_ending: cnn: worker-cnn-0 was killed",
                          "tidegate: worker-cnn-0 was killed; other jobs go on",
                          "log of worker-cnn-0", "cnn has failed: worker-cnn-0 was killed"));
  run.says({running("mlp"), failed("cnn", "worker-cnn-0 was killed")});
  run.pass_ms(200);
  EXPECT_THAT(run.seen(), ElementsAre("terminate worker-cnn-1"));
  run.ends("worker-cnn-1", ending::by_signal);
  run.says({running("mlp"), failed("cnn", "worker-cnn-0 was killed")});
  EXPECT_THAT(run.seen(), ElementsAre("poll")) << "it was told to";
  run.says({done("mlp"), failed("cnn", "worker-cnn-0 was killed")});
  run.all_end({"worker-mlp-0", "coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), Contains("over: process died, worker-cnn-0 was killed"));
}

TEST(launch_core, a_job_is_cancelled_and_the_others_go_on) {
  auto run = two_jobs(true);
  launch_effects out;
  EXPECT_EQ(run.core().cancel("rnn", "somebody", out).code(), runtime::errc::not_found);
  run.cancel("cnn");
  EXPECT_THAT(run.seen(),
              ElementsAre("note job_ending: cnn: job cnn was cancelled by somebody",
                          "tidegate: job cnn was cancelled by somebody; other jobs go on",
                          "cnn has failed: job cnn was cancelled by somebody"));
  EXPECT_EQ(run.core().cancel("cnn", "somebody", out).code(), runtime::errc::cancelled);
  run.ends("worker-cnn-0", ending::by_signal);
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("is started again"))));
  run.says({running("mlp"), failed("cnn", "job cnn was cancelled by somebody")});
  run.pass_ms(200);
  EXPECT_THAT(run.seen(), Contains("terminate worker-cnn-1"));
  run.ends("worker-cnn-1");
  run.says({done("mlp"), failed("cnn", "job cnn was cancelled by somebody")});
  run.all_end({"worker-mlp-0", "coordinator-0", "shard-0"});
  EXPECT_EQ(run.core().result()[1].state, job_state::cancelled);
  EXPECT_EQ(run.core().outcome(), run_outcome::job_failed);
}

TEST(launch_core, the_only_job_that_is_cancelled_ends_the_run) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({running("mlp")});
  run.seen();
  run.cancel("mlp");
  EXPECT_THAT(run.seen(), Contains("tidegate: job mlp was cancelled by somebody"));
  run.says({failed("mlp", "job mlp was cancelled by somebody")});
  run.pass_ms(200);
  EXPECT_THAT(run.seen(), Contains("terminate worker-mlp-0"));
  run.ends("worker-mlp-0", ending::by_signal);
  EXPECT_THAT(run.seen(), Contains("stop"));
  run.all_end({"coordinator-0", "shard-0"});
  EXPECT_EQ(run.core().result()[0].state, job_state::cancelled);
}

TEST(launch_core, a_worker_on_its_way_back_does_not_come_back_to_a_job_that_ends) {
  auto run = two_jobs(true);
  for (int death = 0; death < 2; ++death) {
    run.ends("worker-cnn-0", ending::by_signal);
    run.says({running("mlp"), running("cnn")});
  }
  EXPECT_THAT(run.seen(), Contains(HasSubstr("it is started again in 100 ms")));
  run.cancel("cnn");
  run.says({running("mlp"), failed("cnn", "job cnn was cancelled by somebody")});
  run.pass_ms(5000);
  EXPECT_THAT(run.seen(), Not(Contains(HasSubstr("start worker-cnn-0"))));
}

TEST(launch_core, a_job_that_was_done_before_it_was_cancelled_is_done) {
  auto run = two_jobs();
  run.cancel("cnn");
  run.says({running("mlp"), done("cnn")});
  EXPECT_THAT(run.seen(), Contains("cnn was done"));
  run.all_end({"worker-cnn-0", "worker-cnn-1"});
  run.says({done("mlp"), done("cnn")});
  run.all_end({"worker-mlp-0", "coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), Contains("over: done"));
}

// The coordinator of an epoch begins without the journal of the one before.
TEST(launch_core, a_job_that_has_ended_stays_so_when_the_others_go_back) {
  auto run = two_jobs(true, true);
  run.cancel("cnn");
  run.says({running("mlp"), failed("cnn", "job cnn was cancelled by somebody")});
  run.pass_ms(200);
  run.all_end({"worker-cnn-0", "worker-cnn-1"});
  run.ends("shard-0", ending::by_signal);
  run.seen();
  run.all_end({"worker-mlp-0", "coordinator-0"});
  run.pass_ms(1000);
  run.ready();
  EXPECT_THAT(run.seen(), AllOf(Contains("start worker-mlp-0 again, 2"),
                                Not(Contains(HasSubstr("start worker-cnn"))),
                                Contains("cnn has failed: job cnn was cancelled by somebody")));
}

TEST(launch_core, two_jobs_that_fail_end_the_run) {
  auto run = two_jobs();
  run.says({failed("mlp", "NaN"), failed("cnn", "NaN")});
  run.pass_ms(150);
  run.pass_ms(150);
  run.pass_ms(200);
  run.all_end({"worker-mlp-0", "worker-cnn-0", "worker-cnn-1"});
  EXPECT_THAT(run.seen(), Contains("stop"));
  run.all_end({"coordinator-0", "shard-0"});
  EXPECT_EQ(run.core().outcome(), run_outcome::job_failed);
}

}  // namespace
}  // namespace tidegate::policies::tests
