#include "launch/run/run_screen.hpp"

#include <filesystem>

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

TEST(run_screen, says_who_holds_the_job_up_of_the_last_half_minute) {
  const std::string folder = testing::TempDir() + "run_screen";
  std::filesystem::create_directories(folder);
  run_metrics metrics(folder);
  constexpr std::int64_t second = 1'000'000'000;
  // Worker 1 comes half a second late in each clock of a second, and the other waits.
  for (std::uint64_t clock = 1; clock <= 40; ++clock) {
    auto job = a_run().jobs[0].status;
    job.clock_slowest = clock;
    const auto at = clock * second;
    for (auto& member : job.members) {
      const bool is_late = member.rank == 1;
      member.clock = clock;
      member.times = {.elapsed_ns = at, .wait_ns = is_late ? 0 : at / 2};
      member.arrivals = {.clocks = clock, .last = is_late ? clock : 0};
      member.least_late_ns = member.arrivals.late_ns = is_late ? at / 2 : 0;
    }
    ASSERT_TRUE(metrics.add(static_cast<std::int64_t>(at), 1, {.jobs = {job}}).ok());
  }
  EXPECT_EQ(metrics.last_periods("mlp").size(), 30U);
  EXPECT_TRUE(metrics.last_periods("other").empty());
  EXPECT_THAT(screen_lines(a_run(), metrics, {.columns = 200, .rows = 24}, false),
              Contains(HasSubstr("job mlp: worker 1 holds the job up by 500.0 ms a clock")));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tidegate::launch
