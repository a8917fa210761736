#include "launch/run/run_screen.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

using testing::Contains;
using testing::HasSubstr;

run_view a_run() {
  run_view run{.cluster = "mine", .state = "running"};
  policies::job_status job{.name = "mlp",
                           .policy = "bsp",
                           .state = policies::job_state::running,
                           .workers = 2,
                           .clock_slowest = 7,
                           .clocks_total = 9};
  policies::job_rates rates{.seconds = 1, .clocks_per_second = 2};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    job.members.push_back({.rank = rank, .incarnation = 1, .joined = true, .clock = 7});
    rates.workers.push_back({.rank = rank, .seconds = 1, .computes = 0.5, .waits = 0.5});
  }
  run.jobs.push_back({.status = job, .rates = rates});
  return run;
}

TEST(run_screen, needs_some_room) {
  EXPECT_TRUE(has_room_for_screen({.columns = 80, .rows = 24}));
  EXPECT_FALSE(has_room_for_screen({.columns = 39, .rows = 24}));
  EXPECT_FALSE(has_room_for_screen({.columns = 80, .rows = 15}));
  EXPECT_FALSE(has_room_for_screen({.columns = 80, .rows = 0})) << "it has not said";
}

TEST(run_screen, shows_jobs_and_workers_in_half_of_the_rows) {
  const run_metrics none("/nowhere");
  const auto lines = screen_lines(a_run(), none, {.columns = 80, .rows = 24}, false);
  EXPECT_LE(lines.size(), 12U);
  EXPECT_THAT(lines, Contains(HasSubstr("clock 7 of 9")));
  EXPECT_THAT(lines, Contains(HasSubstr("[======")));
  EXPECT_THAT(lines, Contains(HasSubstr("computes + calls . waits")));
  for (const auto& line : screen_lines(a_run(), none, {.columns = 40, .rows = 16}, false))
    EXPECT_LE(line.size(), 39U + std::string("\x1b[1m\x1b[0m").size() * 2) << line;
}

}  // namespace
}  // namespace tidegate::launch
