// Processes that wait for the place of a worker that dies, as the launcher's core decides it.
#include <gmock/gmock.h>

#include "tests/policies/launcher/fixture.hpp"

namespace tidegate::policies::tests {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(launch_core, spares_are_started_one_by_one_when_all_workers_are_in) {
  auto run = launched::with_spares(2, {"", ""});
  EXPECT_THAT(run.seen(), ElementsAre("start spare 1 of mlp beside rank 0"));
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), IsEmpty()) << "the first is on its way";
  run.spare_waits(1);
  EXPECT_THAT(run.seen(), ElementsAre("start spare 2 of mlp beside rank 0"));
  run.spare_waits(2);
  EXPECT_THAT(run.seen(), IsEmpty());
}

TEST(launch_core, a_spare_takes_the_place_of_a_worker_and_another_waits_when_that_is_in) {
  auto run = launched::with_spares(1, {"", ""});
  run.spare_waits(1);
  run.seen();
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({joined_by(running("mlp"), {1, 1})});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 2 as spare 1"));
  run.says({joined_by(running("mlp"), {1, 1})});
  EXPECT_THAT(run.seen(), IsEmpty());
  run.says({joined_by(running("mlp"), {1, 2})});
  EXPECT_THAT(run.seen(), ElementsAre("start spare 2 of mlp beside rank 0"));
}

TEST(launch_core, a_spare_that_is_still_on_its_way_is_better_than_none) {
  auto run = launched::with_spares(2, {"", ""});
  run.spare_waits(1);
  run.seen();  // the second is on its way, and the program makes no copies
  run.ends({{"worker-mlp-0", ending::by_signal}, {"worker-mlp-1", ending::by_signal}});
  run.says({running("mlp")});
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains("start worker-mlp-0 again, 2 as spare 1"));
  EXPECT_THAT(seen, Contains("start worker-mlp-1 again, 2 as spare 2"));
}

TEST(launch_core, a_spare_takes_places_of_its_host) {
  auto run = launched::with_spares(1, {"a", "b"});
  EXPECT_THAT(run.seen(), ElementsAre("start spare 1 of mlp beside rank 0",
                                      "start spare 2 of mlp beside rank 1"));
  run.spare_waits(1);
  run.spare_waits(2);
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 2 as spare 2"));
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({joined_by(running("mlp"), {1, 1})});
  run.pass_ms(1000);
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 3"))
      << "none of its host is left";
}

TEST(launch_core, a_spare_that_may_become_the_original_is_left_on_its_way) {
  auto run = launched::with_spares(1, {"", ""});
  run.seen();
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({joined_by(running("mlp"), {1, 1})});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 2"));
  run.spare_waits(1, true);
  EXPECT_THAT(run.seen(), ElementsAre("start spare 2 of mlp beside rank 0, of 1"))
      << "a copy waits for nobody who is on the way back";
}

TEST(launch_core, the_first_spare_that_can_is_the_original_of_the_others) {
  auto run = launched::with_spares(1, {"", ""});
  run.seen();
  run.spare_waits(1, true);
  EXPECT_THAT(run.seen(), ElementsAre("start spare 2 of mlp beside rank 0, of 1"));
  run.spare_waits(2);
  EXPECT_THAT(run.seen(), IsEmpty()) << "one waits beside the original";
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({joined_by(running("mlp"), {1, 1})});
  const auto seen = run.seen();
  EXPECT_THAT(seen, Contains("start worker-mlp-1 again, 2 as spare 2"));
  EXPECT_THAT(seen, Contains("start spare 3 of mlp beside rank 0, of 1"));
}

TEST(launch_core, the_original_takes_a_place_where_nobody_else_waits) {
  auto run = launched::with_spares(1, {"", ""});
  run.spare_waits(1, true);
  run.seen();  // its copy is on its way
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({joined_by(running("mlp"), {1, 1})});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 2 as spare 1"));
  run.spare_waits(2);
  run.ends("worker-mlp-0", ending::by_signal);
  run.says({joined_by(running("mlp"), {1, 2})});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-0 again, 2 as spare 2"));
  run.says({joined_by(running("mlp"), {2, 2})});
  EXPECT_THAT(run.seen(), ElementsAre("start spare 3 of mlp beside rank 0"))
      << "another original";
}

TEST(launch_core, a_copy_that_says_nothing_is_ended_with_its_original) {
  auto run = launched::with_spares(1, {"", ""});
  run.spare_waits(1, true);
  run.seen();
  EXPECT_EQ(run.sleeps_ms(), 30'000) << "start_timeout";
  run.pass_ms(30'000);
  EXPECT_THAT(run.seen(), ElementsAre("end spare 2", "end spare 1",
                                      "note spare_ended: a spare of job mlp was not copied "
                                      "within 30s"));
  run.spare_ends(2);
  run.spare_ends(1);
  EXPECT_THAT(run.seen(), ElementsAre("start spare 3 of mlp beside rank 0"));
}

TEST(launch_core, a_program_whose_copies_are_of_no_use_makes_no_more) {
  auto run = launched::with_spares(1, {"", ""});
  run.spare_waits(1, true);
  run.seen();
  run.spare_ends(2);
  EXPECT_THAT(run.seen(), ElementsAre("note spare_ended: a spare ended"))
      << "the original is a spare like any other";
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({joined_by(running("mlp"), {1, 1})});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 2 as spare 1"));
  run.says({joined_by(running("mlp"), {1, 2})});
  EXPECT_THAT(run.seen(), ElementsAre("start spare 3 of mlp beside rank 0"));
  run.spare_waits(3, true);
  EXPECT_THAT(run.seen(), IsEmpty());
}

TEST(launch_core, an_original_that_ends_says_nothing_about_copies) {
  auto run = launched::with_spares(1, {"", ""});
  run.spare_waits(1, true);
  run.seen();
  run.spares_end({1, 2});
  EXPECT_THAT(run.seen(), Contains("note spare_ended: a spare ended"));
  run.pass_ms(100);
  run.spare_waits(3, true);
  EXPECT_THAT(run.seen(), Contains("start spare 4 of mlp beside rank 0, of 3"));
}

TEST(launch_core, spares_that_end_again_and_again_rest) {
  auto run = launched::with_spares(1, {"", ""});  // two deaths are allowed within 60 s
  run.seen();
  run.spare_ends(1);
  EXPECT_THAT(run.seen(), ElementsAre("note spare_ended: a spare ended",
                                      "start spare 2 of mlp beside rank 0"));
  run.spare_ends(2);
  EXPECT_EQ(run.sleeps_ms(), 100);
  run.pass_ms(100);
  EXPECT_THAT(run.seen(), Contains("start spare 3 of mlp beside rank 0"));
  run.spare_ends(3);
  EXPECT_THAT(run.seen(), Contains(HasSubstr("spares of job mlp have ended 3 times within "
                                             "60000 ms (supervision.worker.max_restarts)")));
  EXPECT_EQ(run.sleeps_ms(), 60'000);
  run.ends("worker-mlp-1", ending::by_signal);
  run.says({running("mlp")});
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-1 again, 2")) << "without a spare";
  run.pass_ms(60'000);
  EXPECT_THAT(run.seen(), ElementsAre("start spare 4 of mlp beside rank 0"));
}

TEST(launch_core, a_run_is_over_when_its_spares_have_ended) {
  auto run = launched::with_spares(1, {"", ""});
  run.spare_waits(1);
  run.says({done("mlp")});
  EXPECT_THAT(run.seen(), Contains("end spare 1"));
  run.all_end({"worker-mlp-0", "worker-mlp-1", "coordinator-0", "shard-0"});
  EXPECT_THAT(run.seen(), testing::Not(Contains("over: done")));
  run.spare_ends(1);
  EXPECT_THAT(run.seen(), ElementsAre("over: done"));
}

TEST(launch_core, who_ends_a_run_ends_its_spares) {
  auto run = launched::with_spares(1, {"", ""});
  run.is_terminated();
  EXPECT_THAT(run.seen(), Contains("end spare 1"));
}

TEST(launch_core, spares_outlive_an_epoch) {
  auto run = launched::with_spares(1, {"", ""}, true);
  run.spare_waits(1);
  run.seen();
  run.ends("shard-0", ending::by_signal);
  run.pass_ms(100);
  run.all_end({"coordinator-0", "worker-mlp-0", "worker-mlp-1"});
  EXPECT_THAT(run.seen(), Contains("epoch 2"));
  run.ready();
  EXPECT_THAT(run.seen(), Contains("start worker-mlp-0 again, 2 as spare 1"));
}

}  // namespace
}  // namespace tidegate::policies::tests
