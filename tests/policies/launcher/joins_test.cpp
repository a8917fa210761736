// Workers that end or hang before they have joined, as the launcher's core decides it.
#include <gmock/gmock.h>

#include "tests/policies/launcher/fixture.hpp"

namespace tidegate::policies::tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A worker may die five times, as without `supervision`.
launched with_usual_limits() {
  return launched::that_restarts(2, {.max_restarts = 5,
                                     .within_ms = 60'000,
                                     .backoff_first_ms = 100,
                                     .backoff_last_ms = 5'000});
}

void dies(launched& run, ending kind, const job_status& job) {
  run.ends("worker-mlp-1", kind);
  run.says({job});
  run.pass_ms(1000);
}

TEST(launch_core, a_program_that_fails_before_it_joins_is_tried_three_times) {
  auto run = with_usual_limits();
  const auto nobody = joined_by(waiting("mlp", 0), {0, 0});
  dies(run, ending::bad_status, nobody);
  dies(run, ending::bad_status, nobody);
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 3"));
  dies(run, ending::bad_status, nobody);
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains("tidegate: worker-mlp-1 exited with status 1; it has failed 3 "
                             "times before it joined the run, and would fail again"));
  EXPECT_THAT(seen, Contains("log of worker-mlp-1"));
  EXPECT_THAT(seen, Not(Contains(HasSubstr("start worker"))));
}

TEST(launch_core, a_signal_before_it_joins_is_a_death_like_any_other) {
  auto run = with_usual_limits();
  const auto nobody = joined_by(waiting("mlp", 0), {0, 0});
  for (int death = 0; death < 5; ++death) dies(run, ending::by_signal, nobody);
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 6"));
  dies(run, ending::by_signal, nobody);
  EXPECT_THAT(run.seen(), Contains(HasSubstr("supervision.worker.max_restarts")));
}

TEST(launch_core, a_failure_after_a_process_of_the_rank_has_joined_is_a_death_like_any_other) {
  auto run = with_usual_limits();
  for (int death = 0; death < 5; ++death)
    dies(run, ending::bad_status, joined_by(running("mlp"), {1, 1}));
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 6"));
}

TEST(launch_core, without_the_coordinators_word_nobody_has_failed_before_joining) {
  auto run = with_usual_limits();
  for (int death = 0; death < 3; ++death) {
    run.ends("worker-mlp-1", ending::bad_status);
    run.is_silent();
    run.pass_ms(3000);
  }
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 4"));
}

TEST(launch_core, a_restarted_worker_that_does_not_join_is_killed_and_has_died) {
  auto run = with_usual_limits();
  run.ends("worker-mlp-1", ending::by_signal);
  const auto one_is_missing = joined_by(running("mlp"), {1, 1});
  run.says({one_is_missing});
  run.seen();
  EXPECT_EQ(run.sleeps_ms(), 30'000);
  run.pass_ms(29'999);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.pass_ms(1);
  EXPECT_THAT(run.seen(), ElementsAre("note process_hangs: worker-mlp-1 has not joined within "
                                      "30s (cluster.start_timeout)",
                                      "kill worker-mlp-1"));
  EXPECT_EQ(run.sleeps_ms(), -1) << "it is killed once";
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({one_is_missing});
  EXPECT_THAT(run.seen(),
              Contains("tidegate: worker-mlp-1 was killed, as it had not joined within 30s "
                       "(cluster.start_timeout); it is started again in 100 ms (incarnation "
                       "3)"));
}

TEST(launch_core, a_restarted_worker_that_joins_in_time_goes_on) {
  auto run = with_usual_limits();
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({joined_by(running("mlp"), {1, 1})});
  run.pass_ms(29'999);
  run.says({joined_by(running("mlp"), {1, 2})});
  run.seen();
  run.pass_ms(60'000);
  EXPECT_THAT(run.seen(), IsEmpty());
}

TEST(launch_core, nobody_is_late_while_the_coordinator_is_away) {
  auto run = launched::with_journal(false);
  run.ends("worker-mlp-0", ending::by_signal);
  const auto missing = joined_by(running("mlp"), {1});
  run.says({missing});
  run.ends("coordinator-0", ending::by_signal);
  run.seen();
  run.pass_ms(60'000);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.says(2, {missing});
  run.pass_ms(29'999);
  EXPECT_THAT(run.seen(), IsEmpty()) << "it has as long again";
  run.pass_ms(1);
  EXPECT_THAT(run.seen(), Contains("kill worker-mlp-0"));
}

TEST(launch_core, a_coordinator_that_is_silent_may_know_that_all_have_joined) {
  auto run = launched::running_with({{"mlp", 2}});
  run.says({waiting("mlp", 1)});
  run.is_silent();
  run.seen();
  EXPECT_EQ(run.sleeps_ms(), -1);
  run.pass_ms(40'000);
  EXPECT_THAT(run.seen(), IsEmpty());
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), IsEmpty());
  auto late = launched::running_with({{"mlp", 2}});
  late.says({waiting("mlp", 1)});
  late.is_silent();
  late.pass_ms(40'000);
  late.seen();
  late.says({waiting("mlp", 1)});
  EXPECT_THAT(late.seen(), Contains(HasSubstr("1 of 2 workers joined within 30s")));
}

TEST(launch_core, a_worker_of_the_beginning_that_does_not_join_while_others_run_is_late_too) {
  auto run = with_usual_limits();
  run.says({joined_by(running("mlp"), {1, 0})});
  run.seen();
  run.pass_ms(30'000);
  EXPECT_THAT(run.seen(), Contains("kill worker-mlp-1"));
}

}  // namespace
}  // namespace tidegate::policies::tests
