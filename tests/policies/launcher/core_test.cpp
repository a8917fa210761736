#include "policies/launcher/core.hpp"

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

// What every end begins with, when the jobs that are not done are these.
lines ending(const std::string& why, const std::string& jobs = "mlp") {
  return {"note ending: " + why, "tidegate: " + why, "stop, " + jobs + " has failed: " + why};
}

lines operator+(lines all, const std::string& more) {
  all.push_back(more);
  return all;
}

TEST(launch_core, an_orderly_run) {
  launched run({{"mlp", 2}});
  EXPECT_THAT(run.seen(), ElementsAre("start coordinator-0"));
  run.ready();
  EXPECT_THAT(run.seen(), ElementsAre("start shard-0", "start worker-mlp-0",
                                      "start worker-mlp-1", "watch"));
  run.says({running("mlp")});
  EXPECT_TRUE(run.core().is_running());
  EXPECT_EQ(run.sleeps_ms(), -1) << "nothing is waited for";
  run.says({done("mlp")});
  run.ends("worker-mlp-0");
  EXPECT_THAT(run.seen(), ElementsAre("poll")) << "a worker is still there";
  EXPECT_EQ(run.core().workers_alive("mlp"), 1U);
  run.ends("worker-mlp-1");
  EXPECT_THAT(run.seen(), ElementsAre("poll", "stop"));
  EXPECT_FALSE(run.core().is_running());
  run.all_end({"coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: done"));
  run.says({done("mlp")});
  EXPECT_THAT(run.seen(), IsEmpty()) << "over once";
}

TEST(launch_core, what_does_not_leave_after_success_is_ended) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({done("mlp")});
  run.ends("worker-mlp-0");
  run.seen();
  EXPECT_EQ(run.sleeps_ms(), 2000);
  run.ends("coordinator-0");
  run.pass_ms(2000);
  EXPECT_THAT(run.seen(), ElementsAre("terminate shard-0"));
  run.pass_ms(1999);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.pass_ms(1);
  EXPECT_THAT(run.seen(), ElementsAre("note process_killed: shard-0", "kill shard-0"));
  run.ends("shard-0", ending::by_signal);
  EXPECT_THAT(run.seen(), ElementsAre("over: done"));
}

TEST(launch_core, a_worker_that_dies_ends_the_run) {
  auto run = launched::running_with({{"mlp", 2}});
  run.says({running("mlp")});
  run.ends("worker-mlp-1", ending::by_signal);
  EXPECT_THAT(run.seen(), ElementsAre("poll")) << "its job may have been done";
  run.says_of_before({running("mlp")});
  EXPECT_THAT(run.seen(), IsEmpty()) << "it may have been done since";
  run.says({running("mlp")});
  EXPECT_EQ(run.seen(), ending("worker-mlp-1 was killed") + "log of worker-mlp-1");
  run.pass_ms(200);
  EXPECT_THAT(run.seen(), ElementsAre("terminate coordinator-0", "terminate shard-0",
                                      "terminate worker-mlp-0"));
  run.all_end({"coordinator-0", "worker-mlp-0"});
  run.pass_ms(1000);
  EXPECT_THAT(run.seen(), ElementsAre("note process_killed: shard-0", "kill shard-0"));
  run.ends("shard-0", ending::by_signal);
  EXPECT_THAT(run.seen(), ElementsAre("over: process died, worker-mlp-1 was killed"));
}

TEST(launch_core, a_death_is_one_without_the_coordinators_word_too_but_later) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({running("mlp")});
  run.ends("worker-mlp-0", ending::bad_status);
  run.seen();
  EXPECT_EQ(run.sleeps_ms(), 1000);
  run.pass_ms(999);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.pass_ms(1);
  EXPECT_THAT(run.seen(), Contains("log of worker-mlp-0"));
}

TEST(launch_core, a_worker_that_ends_badly_after_its_job_is_a_warning) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({running("mlp", 1)});
  run.ends("worker-mlp-0", ending::by_signal);
  run.seen();
  run.says({done("mlp")});
  EXPECT_THAT(run.seen(),
              ElementsAre("warning: worker-mlp-0 was killed, after it had finished", "stop"));
  auto known = launched::running_with({{"mlp", 1}});
  known.says({done("mlp")});
  known.ends("worker-mlp-0", ending::bad_status);
  EXPECT_THAT(known.seen(), ElementsAre("poll")) << "no stop before the verdict";
  known.says({done("mlp")});
  EXPECT_THAT(known.seen(), ElementsAre(HasSubstr("warning: "), "stop"));
}

TEST(launch_core, a_node_is_to_live_until_all_jobs_are_done) {
  const std::string name = "shard-0";
  auto early = launched::running_with({{"mlp", 1}});
  early.says({running("mlp")});
  early.ends(name);
  early.pass_ms(150);
  EXPECT_THAT(early.seen(), Contains("log of " + name));
  auto late = launched::running_with({{"mlp", 1}});
  late.says({done("mlp")});
  late.ends(name);
  late.pass_ms(150);
  EXPECT_THAT(late.seen(), Contains("warning: " + name + " ended, after all jobs were done"));
  late.ends("worker-mlp-0");
  EXPECT_THAT(late.seen(), Contains("stop")) << "nothing was lost";
}

TEST(launch_core, a_coordinator_that_ends_before_it_is_ready) {
  launched run({{"mlp", 1}});
  run.seen();
  run.ends("coordinator-0", ending::bad_status);
  EXPECT_EQ(run.sleeps_ms(), 150);
  run.pass_ms(150);
  EXPECT_THAT(run.seen(), ElementsAre("note ending: coordinator-0 exited with status 1",
                                      "tidegate: coordinator-0 exited with status 1",
                                      "log of coordinator-0",
                                      "over: process died, coordinator-0 exited with status 1"))
      << "nobody is there to be told";
}

TEST(launch_core, a_coordinator_that_does_not_get_ready_or_gives_no_port) {
  launched late({{"mlp", 1}});
  late.seen();
  EXPECT_EQ(late.sleeps_ms(), 30'000);
  late.pass_ms(30'000);
  EXPECT_THAT(late.seen(), Contains("tidegate: the coordinator was not ready within 30s "
                                    "(cluster.start_timeout)"));
  late.ready();
  EXPECT_THAT(late.seen(), IsEmpty()) << "too late";
  launched odd({{"mlp", 1}});
  odd.gives_no_port();
  EXPECT_THAT(odd.seen(), Contains("tidegate: no port"));
  odd.ends("coordinator-0");
  EXPECT_THAT(odd.seen(), ElementsAre("over: job failed, no port"));
}

TEST(launch_core, nothing_is_started_after_what_cannot_be) {
  launched run({{"mlp", 3}});
  run.cannot_start("worker-mlp-1");
  run.seen();
  run.ready();
  const std::string why = "worker-mlp-1 could not be started: no memory";
  EXPECT_THAT(run.seen(),
              ElementsAre("start shard-0", "start worker-mlp-0", "start worker-mlp-1",
                          "note ending: " + why, "tidegate: " + why));
  run.all_end({"coordinator-0", "shard-0", "worker-mlp-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: job failed, " + why));
}

TEST(launch_core, a_job_that_fails_by_itself) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({failed("mlp", "NaN in fc1")});
  EXPECT_THAT(run.seen(), IsEmpty()) << "a death may be the reason";
  EXPECT_EQ(run.sleeps_ms(), 150);
  run.pass_ms(100);
  run.says({failed("mlp", "NaN in fc1")});
  run.pass_ms(50);
  EXPECT_THAT(run.seen(), ElementsAre("note ending: job mlp failed: NaN in fc1",
                                      "tidegate: job mlp failed: NaN in fc1", "stop"))
      << "150 ms from when it was first said";
  run.all_end({"coordinator-0", "shard-0", "worker-mlp-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: job failed, job mlp failed: NaN in fc1"));
  EXPECT_EQ(run.core().result()[0].failure, "NaN in fc1");
}

TEST(launch_core, a_job_that_fails_by_a_death_whose_news_comes_later) {
  auto run = launched::running_with({{"mlp", 2}});
  run.says({failed("mlp", "worker 1 is lost")});
  run.pass_ms(149);
  run.ends("worker-mlp-1", ending::by_signal);
  run.pass_ms(500);
  run.says_of_before({failed("mlp", "worker 1 is lost")});
  EXPECT_THAT(run.seen(), ElementsAre("poll")) << "the job waits for the verdict";
  run.says({failed("mlp", "worker 1 is lost")});
  EXPECT_THAT(run.seen(), Contains("tidegate: worker-mlp-1 was killed"));
}

TEST(launch_core, a_worker_that_said_why_before_it_ended_has_not_died) {
  auto run = launched::running_with({{"mlp", 2}});
  run.ends("worker-mlp-0", ending::bad_status);
  run.says({failed("mlp", "NaN in fc1")});
  EXPECT_THAT(run.seen(), ElementsAre("poll"));
  run.pass_ms(150);
  EXPECT_THAT(run.seen(), Contains("tidegate: job mlp failed: NaN in fc1"));
}

TEST(launch_core, a_death_by_a_signal_explains_an_end_with_a_status) {
  auto run = launched::running_with({{"mlp", 1}});
  run.ends("shard-0", ending::bad_status);
  run.pass_ms(149);
  run.ends("worker-mlp-0", ending::by_signal);
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), Contains("tidegate: worker-mlp-0 was killed"));
  auto at_once = launched::running_with({{"mlp", 1}});
  at_once.ends("shard-0", ending::bad_status);
  at_once.pass_ms(149);
  at_once.seen();
  at_once.ends("worker-mlp-0", ending::bad_status);
  at_once.pass_ms(1);
  EXPECT_THAT(at_once.seen(), Contains("tidegate: shard-0 exited with status 1"))
      << "otherwise the first";
}

TEST(launch_core, of_deaths_in_one_turn_one_by_a_signal_counts_wherever_it_stands) {
  auto run = launched::running_with({{"mlp", 2}});
  run.ends({{"worker-mlp-0", ending::bad_status}, {"worker-mlp-1", ending::by_signal}});
  EXPECT_THAT(run.seen(), ElementsAre("poll")) << "once for both";
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), Contains("log of worker-mlp-1"));
}

TEST(launch_core, workers_that_exit_cleanly_without_a_word_leave_a_job_that_has_failed) {
  auto run = launched::running_with({{"mlp", 2}});
  run.says({running("mlp", 1)});
  run.ends("worker-mlp-0");
  EXPECT_EQ(run.sleeps_ms(), -1) << "that was the one that has finished";
  run.ends("worker-mlp-1");
  EXPECT_EQ(run.sleeps_ms(), -1) << "the coordinator may be silent for longer than that";
  run.says({running("mlp", 1)});
  EXPECT_EQ(run.sleeps_ms(), 5000) << "its word may be on its way";
  run.seen();
  run.pass_ms(5000);
  EXPECT_THAT(run.seen(), Contains("tidegate: job mlp failed: 2 of its workers have exited, "
                                   "but only 1 have finished; did they call finish()?"));
  auto in_time = launched::running_with({{"mlp", 1}});
  in_time.says({running("mlp")});
  in_time.ends("worker-mlp-0");
  in_time.says({running("mlp")});
  in_time.pass_ms(4999);
  in_time.says({running("mlp", 1)});
  EXPECT_EQ(in_time.sleeps_ms(), -1);
}

TEST(launch_core, workers_that_do_not_join_in_time) {
  launched run({{"mlp", 2}, {"odd", 2}});
  run.pass_ms(10'000);
  run.ready();
  EXPECT_EQ(run.sleeps_ms(), 30'000) << "from their own start";
  run.pass_ms(29'000);
  run.says({running("mlp"), waiting("odd", 1)});
  EXPECT_EQ(run.sleeps_ms(), 1000);
  run.pass_ms(1000);
  EXPECT_THAT(run.seen(), Contains("tidegate: job odd failed: 1 of 2 workers joined within "
                                   "30s (cluster.start_timeout); other jobs go on"));
}

TEST(launch_core, interrupted_once_everything_gets_a_chance_to_leave) {
  auto run = launched::running_with({{"mlp", 1}});
  run.is_interrupted();
  EXPECT_EQ(run.seen(), ending("interrupted by SIGINT"));
  EXPECT_EQ(run.sleeps_ms(), 200);
  run.pass_ms(1199);
  EXPECT_THAT(run.seen(), ElementsAre("terminate coordinator-0", "terminate shard-0",
                                      "terminate worker-mlp-0"));
  run.ends("worker-mlp-0", ending::by_signal);
  run.pass_ms(1);
  EXPECT_THAT(run.seen(),
              ElementsAre("note process_killed: coordinator-0", "kill coordinator-0",
                          "note process_killed: shard-0", "kill shard-0"));
  run.all_end({"coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: job failed, interrupted by SIGINT"));
  EXPECT_EQ(run.core().result()[0].state, job_state::interrupted);
  EXPECT_EQ(run.core().result()[0].failure, "interrupted by SIGINT");
}

TEST(launch_core, interrupted_twice_everything_is_killed_at_once) {
  auto run = launched::running_with({{"mlp", 1}});
  run.is_interrupted();
  run.seen();
  run.is_interrupted();
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains("kill worker-mlp-0"));
  EXPECT_THAT(seen, Not(Contains(HasSubstr("ending")))) << "told once";
}

TEST(launch_core, interrupted_when_all_jobs_are_done_they_are_done) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({done("mlp")});
  run.ends("worker-mlp-0");
  run.is_interrupted();
  run.seen();
  run.all_end({"coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), ElementsAre("over: done, interrupted by SIGINT"));
}

TEST(launch_core, polls_that_fail_are_noted_once_and_end_nothing) {
  auto run = launched::running_with({{"mlp", 1}});
  run.says({running("mlp")});
  run.is_silent();
  EXPECT_THAT(run.seen(), ElementsAre("note coordinator_silent: timed_out: no answer"));
  run.is_silent();
  EXPECT_THAT(run.seen(), IsEmpty());
  EXPECT_EQ(run.core().job("mlp")->state, job_state::running) << "as last told";
  run.says({running("mlp")});
  run.is_silent();
  EXPECT_THAT(run.seen(), ElementsAre("note coordinator_silent: timed_out: no answer"));
  run.says({running("mlp")});
  run.is_interrupted();
  run.seen();
  run.is_silent();
  EXPECT_THAT(run.seen(), IsEmpty()) << "it was told to stop";
}

TEST(launch_core, a_coordinator_that_cannot_be_reached_ends_the_run) {
  auto run = launched::running_with({{"mlp", 1}});
  run.is_unreachable();
  EXPECT_EQ(run.seen(), ending("cannot reach the coordinator: unavailable: nobody listens"));
  run.is_unreachable();
  EXPECT_THAT(run.seen(), IsEmpty());
}

TEST(launch_core, two_jobs_are_done_when_both_are) {
  auto run = launched::running_with({{"mlp", 1}, {"cnn", 1}});
  run.says({done("mlp"), running("cnn", 1)});
  run.ends("worker-mlp-0");
  run.ends("worker-cnn-0");
  EXPECT_THAT(run.seen(), ElementsAre("poll", "poll"));
  run.says({done("mlp"), done("cnn")});
  EXPECT_THAT(run.seen(), ElementsAre("stop"));
}

TEST(launch_core, of_two_jobs_the_one_that_is_done_stays_done) {
  auto run = launched::running_with({{"mlp", 1}, {"cnn", 1}});
  run.says({done("mlp"), running("cnn")});
  run.ends("worker-mlp-0");
  EXPECT_TRUE(run.core().is_running());
  EXPECT_EQ(run.sleeps_ms(), -1) << "nobody misses the workers of a job that is done";
  run.seen();
  run.ends("worker-cnn-0", ending::by_signal);
  run.says({done("mlp"), running("cnn")});
  EXPECT_THAT(run.seen(), Contains("cnn has failed: worker-cnn-0 was killed"));
  EXPECT_EQ(run.core().result()[0].state, job_state::done);
}

}  // namespace
}  // namespace tidegate::policies
