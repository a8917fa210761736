#include "launch/screen/run_lines.hpp"

#include <algorithm>

#include <gmock/gmock.h>

#include "launch/run/run_status.hpp"

namespace tidegate::launch {
namespace {

using policies::process_role;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Worker 2 computes, the others wait for it.
run_view slow_worker(std::uint32_t workers = 4) {
  policies::job_status job;
  job.name = "mlp";
  job.policy = "bsp";
  job.state = policies::job_state::running;
  job.workers = job.workers_joined = workers;
  job.clock_slowest = 205;
  job.clock_fastest = 206;
  job.clocks_total = 600;
  job.samples = 1;
  job.loss = 0.25;
  policies::job_rates rates{.seconds = 5, .clocks_per_second = 20, .samples_per_second = 2433};
  std::vector<live_process> processes{{.name = {process_role::coordinator, "", 0}},
                                      {.name = {process_role::shard, "", 0}}};
  for (std::uint32_t rank = 0; rank < workers; ++rank) {
    const bool is_slow = rank == 2;
    policies::worker_status worker;
    worker.rank = rank;
    worker.joined = true;
    worker.incarnation = 1;
    worker.clock = 205;
    job.members.push_back(worker);
    rates.workers.push_back({.rank = rank,
                             .clocks = 100,
                             .clocks_per_second = 20,
                             .samples_per_second = 608,
                             .computes = is_slow ? 0.96 : 0.4,
                             .calls = 0.01,
                             .waits = is_slow ? 0.03 : 0.59,
                             .comes_last = is_slow ? 1.0 : 0.0,
                             .late_seconds = is_slow ? 0.0299 : 0,
                             .late = is_slow ? 2.99 : 0});
    processes.push_back({.name = {process_role::worker, "mlp", rank}});
  }
  return {.cluster = "mine",
          .state = "running",
          .jobs = {{.status = job, .rates = rates}},
          .processes = processes,
          .hosts = {{.name = "", .state = "up"}},
          .waits = {}};
}

std::vector<std::string> shown(const run_content& content, screen_size screen) {
  const auto lines = run_lines(content, screen);
  EXPECT_TRUE(lines);
  std::vector<std::string> texts;
  for (const auto& line : *lines) texts.push_back(plain_text(line));
  return texts;
}

TEST(run_lines, shows_jobs_and_where_the_time_of_workers_goes) {
  const auto lines = shown({.status = status_line(slow_worker()),
                            .reasons = {"job mlp: worker 2 holds the job up"},
                            .events = {"13:02:11 worker_joined  mlp rank 0"}},
                           {.columns = 80, .rows = 24});
  EXPECT_EQ(lines[0], "cluster mine  running  1 shard, 4 workers");
  EXPECT_EQ(lines[1],
            "mlp  bsp  running  clock 205 of 600  2,433 samples/s  loss 0.2500  20s left");
  EXPECT_THAT(lines[2], StartsWith("[=="));
  EXPECT_EQ(lines[3], "job mlp: worker 2 holds the job up");
  EXPECT_THAT(lines[4], StartsWith(" rank   last     clock       late   samples/s"));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("   *2   100%       205    29.9 ms"),
                                    HasSubstr("########"))));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("    0     0%"), HasSubstr("####...."))));
  EXPECT_EQ(lines.back(), "13:02:11 worker_joined  mlp rank 0");
}

TEST(run_lines, fits_any_screen) {
  run_content content{.status = status_line(slow_worker(60)),
                      .events = {"13:02:11 one  more", "13:02:12 two  more"}};
  std::string reason(300, 'x');
  reason.append(" and words after it");
  content.reasons.push_back(reason);
  for (const std::size_t columns : {1, 5, 20, 40, 80, 200, 1000})
    for (const std::size_t rows : {1, 2, 3, 5, 10, 24, 100}) {
      const auto lines = shown(content, {.columns = columns, .rows = rows});
      EXPECT_LE(lines.size(), rows);
      for (const auto& line : lines) EXPECT_LE(line.size(), columns) << line;
    }
}

TEST(run_lines, keeps_rank_and_who_comes_last_where_there_is_little_room) {
  const auto lines = shown({.status = status_line(slow_worker())}, {.columns = 24, .rows = 24});
  EXPECT_THAT(lines, Contains(StartsWith("   *2   100%  ########")));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("29.9 ms"))));
}

TEST(run_lines, scrolls_and_sorts_what_has_no_room) {
  const run_content content{.status = status_line(slow_worker(60))};
  auto lines = shown(content, {.columns = 80, .rows = 10});
  EXPECT_THAT(lines, Contains(StartsWith("   *2   100%")));
  lines = shown(content, {.columns = 80, .rows = 10, .first_worker = 1000});
  EXPECT_THAT(lines, Contains(StartsWith("   59     0%")));
  EXPECT_THAT(lines, Not(Contains(StartsWith("   2 "))));
  screen_size screen{.columns = 80, .rows = 10, .first_worker = 1000};
  ASSERT_TRUE(run_lines(content, screen));
  EXPECT_EQ(screen.first_worker, 54U) << "so that the next key up moves";
  lines = shown(content, {.columns = 80, .rows = 10, .by_lateness = true});
  EXPECT_THAT(lines[4], StartsWith("   *2   100%"));
}

TEST(run_lines, leaves_room_beside_many_reasons) {
  const run_content content{.status = status_line(slow_worker()),
                            .reasons = std::vector<std::string>(9, "job mlp: a reason")};
  const auto lines = shown(content, {.columns = 80, .rows = 24});
  EXPECT_THAT(lines, Contains("and 7 more: tidegate why"));
  EXPECT_THAT(lines, Contains(StartsWith("   *2   100%")));
}

TEST(run_lines, leaves_out_ranks_that_have_left) {
  auto run = slow_worker();
  run.jobs[0].status.changes = {{.rank = 2, .clock = 7, .joins = false}};
  EXPECT_THAT(shown({.status = status_line(run)}, {.columns = 80, .rows = 24}),
              Not(Contains(StartsWith("   2 "))));
  EXPECT_EQ(jobs_of(status_line(run)), 1U);
  EXPECT_EQ(jobs_of("{"), 0U);
}

TEST(run_lines, says_what_is_wrong) {
  auto run = slow_worker();
  run.jobs[0].status.members[1].joined = false;
  run.hosts.push_back({.name = "blue", .state = "lost"});
  run.waits = {{.waiter = "job mlp", .awaited = "worker-mlp-1 to join", .seconds = 3}};
  const auto lines =
      shown({.status = status_line(run), .age_seconds = 12}, {.columns = 80, .rows = 24});
  EXPECT_THAT(lines, Contains("the launcher has not answered for 12s"));
  EXPECT_THAT(lines, Contains("host blue is lost"));
  EXPECT_THAT(lines, Contains("job mlp has waited 3s for worker-mlp-1 to join"));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("    1 "), HasSubstr("is not there"))));
}

TEST(run_lines, obeys_nothing_that_a_text_says_to_the_terminal) {
  auto run = slow_worker();
  run.jobs[0].status.state = policies::job_state::failed;
  run.jobs[0].status.failure = "it\x1b[2J has NaN\r";
  for (const auto& line : shown({.status = status_line(run), .events = {"\x07\x1b]0;x\x07"}},
                                {.columns = 80, .rows = 24}))
    EXPECT_TRUE(std::none_of(line.begin(), line.end(), [](char c) {
      return static_cast<unsigned char>(c) < ' ';
    })) << line;
}

TEST(run_lines, refuses_what_is_no_status) {
  screen_size screen;
  for (const auto* text : {"", "[]", "{}", "error", "{\"jobs\""})
    EXPECT_EQ(run_lines({.status = text}, screen).error().code(), runtime::errc::corrupt)
        << text;
  EXPECT_TRUE(
      run_lines({.status = R"({"jobs":[{},3,{"members":[{}]}],"waits":[{}]})"}, screen));
}

TEST(run_lines, shows_events_by_the_time_of_day) {
  EXPECT_EQ(event_text(R"({"unix_ns":1,"time":"2026-11-29T08:27:17.617Z","kind":"worker_lost",)"
                       R"("detail":"job rank 1"})"),
            "08:27:17 worker_lost  job rank 1");
  EXPECT_EQ(event_text("{}"), "");
  EXPECT_EQ(event_text(R"({"time":"2026"})"), "");
  EXPECT_EQ(event_text("{\"time\""), "");
}

}  // namespace
}  // namespace tidegate::launch
