// Waits that are told, and jobs that stand still.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policies/supervision/progress_watchdog.hpp"
#include "policies/supervision/wait_ledger.hpp"

namespace tidegate::policies {
namespace {

constexpr std::int64_t second = 1000 * millisecond;
using wait = wait_ledger::wait;

TEST(wait_ledger, a_wait_is_told_once_from_two_seconds_on_and_shown_until_it_ends) {
  wait_ledger ledger;
  const std::vector<wait> joins{{.waiter = "job mlp", .awaited = "worker-mlp-1 to join"}};
  EXPECT_TRUE(ledger.look(10 * second, joins).empty());
  EXPECT_TRUE(ledger.look(11 * second, joins).empty());
  EXPECT_TRUE(ledger.reported(11 * second).empty());
  const auto fresh = ledger.look(12 * second, joins);
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].for_ns, 2 * second);
  EXPECT_TRUE(ledger.look(13 * second, joins).empty()) << "told once";
  ASSERT_EQ(ledger.reported(13 * second).size(), 1u);
  EXPECT_EQ(ledger.reported(13 * second)[0].seconds, 3);
  EXPECT_EQ(ledger.reported(13 * second)[0].awaited, "worker-mlp-1 to join");
  EXPECT_TRUE(ledger.look(14 * second, {}).empty());
  EXPECT_TRUE(ledger.reported(20 * second).empty());
  EXPECT_TRUE(ledger.look(21 * second, joins).empty()) << "another wait";
}

TEST(wait_ledger, waits_that_began_elsewhere_keep_their_age_and_the_longest_comes_first) {
  wait_ledger ledger;
  const auto fresh =
      ledger.look(10 * second, {{.waiter = "a", .awaited = "x", .for_ns = 3 * second},
                                {.waiter = "b", .awaited = "y", .for_ns = 5 * second},
                                {.waiter = "c", .awaited = "z"}});
  EXPECT_EQ(fresh.size(), 2u);
  const auto status = ledger.reported(10 * second);
  ASSERT_EQ(status.size(), 2u);
  EXPECT_EQ(status[0].waiter, "b");
  EXPECT_EQ(status[1].waiter, "a");
}

std::vector<job_status> at_clock(std::uint64_t clock) {
  job_status job;
  job.name = "mlp";
  job.state = job_state::running;
  job.clock_slowest = clock;
  return {job};
}

TEST(progress_watchdog, a_standstill_is_told_after_four_seconds_and_when_it_has_doubled) {
  progress_watchdog dog;
  EXPECT_TRUE(dog.look(0, at_clock(1)).empty());
  EXPECT_TRUE(dog.look(4 * second - 1, at_clock(1)).empty());
  const auto first = dog.look(4 * second, at_clock(1));
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].job, "mlp");
  EXPECT_EQ(first[0].for_ns, 4 * second);
  EXPECT_TRUE(dog.look(7 * second, at_clock(1)).empty());
  EXPECT_EQ(dog.look(8 * second, at_clock(1)).size(), 1u);
  EXPECT_TRUE(dog.look(11 * second, at_clock(2)).empty());
}

TEST(progress_watchdog, a_job_whose_clocks_take_long_is_given_three_of_them) {
  progress_watchdog dog;
  dog.look(0, at_clock(1));
  dog.look(4 * second, at_clock(2));
  dog.look(8 * second, at_clock(3));
  EXPECT_TRUE(dog.look(16 * second, at_clock(3)).empty());
  EXPECT_EQ(dog.look(20 * second, at_clock(3)).size(), 1u);
}

TEST(progress_watchdog, one_outage_and_the_wait_for_workers_say_nothing_of_a_jobs_clocks) {
  progress_watchdog dog;
  auto waiting = at_clock(0);
  waiting[0].state = job_state::waiting;
  dog.look(0, waiting);
  dog.look(30 * second, at_clock(0));
  dog.look(31 * second, at_clock(1));
  dog.look(61 * second, at_clock(2));
  EXPECT_EQ(dog.look(65 * second, at_clock(2)).size(), 1u);
}

TEST(progress_watchdog, a_job_that_has_ended_stands_still_well) {
  progress_watchdog dog;
  dog.look(0, at_clock(1));
  auto done = at_clock(1);
  done[0].state = job_state::done;
  EXPECT_TRUE(dog.look(60 * second, done).empty());
}

}  // namespace
}  // namespace tidegate::policies
