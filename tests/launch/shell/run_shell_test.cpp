// What a launcher does of what its core decides, in which order, in a world of words.
#include "launch/shell/run_shell.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "policies/model/millisecond.hpp"
#include "tests/launch/shell/run_shell_world.hpp"

namespace tidegate::launch {
namespace {

using policies::millisecond;

TEST(run_shell, writes_the_pids_after_spawns_and_before_it_decides_again) {
  launcher_of_words run;
  EXPECT_EQ(run.world.take(), (lines{"spawn 0.1", "pids"}));
  run.turn(1, {}, {coordinator_listens});
  EXPECT_EQ(run.world.take(), (lines{"spawn 1.1", "spawn 2.1", "pids"}));
  EXPECT_TRUE(run.world.watches());
}

TEST(run_shell, tells_the_coordinator_which_life_has_ended) {
  running run;
  run.world.take();
  run.dies(10, 2);
  EXPECT_EQ(run.world.take(), (lines{"ask 4 of worker-a-0.1", "pids", "poll"}));
}

TEST(run_shell, a_life_is_ended_that_is_the_one_judged) {
  running run(1000);
  run.dies(10, 2);
  run.is_told(20, 1);
  run.is_told(500 * millisecond, 1);
  auto all = run.world.take();
  EXPECT_EQ(std::count(all.begin(), all.end(), "spawn 2.2"), 1);
  // Its own beats, and then none.
  for (auto now = 600 * millisecond; now < 5000 * millisecond; now += 100 * millisecond)
    run.is_told(now, 1);
  all = run.world.take();
  EXPECT_EQ(std::count(all.begin(), all.end(), "kill 2.2"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), "kill 2.1"), 0);
}

TEST(run_shell, pids_that_could_not_be_written_are_written_in_the_next_turn) {
  running run;
  run.world.take();
  run.world.disk = {runtime::errc::no_space, "full"};
  run.dies(10, 2);
  run.world.take();
  run.is_told(20, 1);
  auto seen = run.world.take();
  EXPECT_GT(std::count(seen.begin(), seen.end(), "pids"), 0) << "there may be room again";
  run.world.disk = {};
  run.is_told(30, 1);
  run.world.take();
  run.is_told(40, 1);
  seen = run.world.take();
  EXPECT_EQ(std::count(seen.begin(), seen.end(), "pids"), 0) << "they are written";
}

// Their agents fail before the first turn is over.
TEST(run_shell, hosts_that_cannot_be_reached_at_once_end_the_run) {
  auto plan = small_plan();
  plan.hosts = {{.name = "own", .room = {}}, {.name = "blue", .room = {}}};
  plan.homes = {{"worker-a-0", 1}};
  world_of_words world;
  run_shell shell(plan, world, 1);
  shell.begin(0);
  shell.turn(1, {});
  world.agent.turn(2, {.link = {}, .frames = {}, .reports = {death_of(0)}});
  shell.turn(2, {});
  ASSERT_NE(shell.ended(), nullptr);
  EXPECT_EQ(shell.ended()->outcome, policies::run_outcome::job_failed);
  EXPECT_EQ(shell.ended()->reason, "host blue: no route to it");
  const auto all = world.take();
  EXPECT_EQ(std::count(all.begin(), all.end(), "log of agent-blue"), 1);
}

TEST(run_shell, a_process_that_cannot_be_started_again_is_tried_later) {
  running run;
  run.world.refuses_ = {2};
  run.dies(10, 2);
  run.is_told(20, 1);
  run.world.refuses_.clear();
  for (auto now = 600; now < 3000; now += 100) run.is_told(now * millisecond, 1);
  const auto all = run.world.take();
  EXPECT_EQ(std::count(all.begin(), all.end(), "no spawn 2.2"), 1);
  EXPECT_EQ(std::count(all.begin(), all.end(), "spawn 2.3"), 1);
}

TEST(run_shell, a_launcher_that_was_stopped_hears_before_it_judges) {
  launcher_of_words run;
  run.turn(1, {}, {coordinator_listens});
  const auto waiting = [&](std::int64_t now) {
    run_turn told;
    told.news = running_news();
    told.news->status.jobs[0].state = policies::job_state::waiting;
    told.news->status.jobs[0].workers_joined = 0;
    run.turn(now, std::move(told));
  };
  waiting(200 * millisecond);
  waiting(100'000 * millisecond);
  EXPECT_TRUE(run.shell.core().is_running()) << "what it knows is 100 s old";
  for (auto at = 100'000; at < 131'000; at += 200) waiting(at * millisecond);
  EXPECT_FALSE(run.shell.core().is_running()) << "start_timeout is over, as it has seen";
}

TEST(run_shell, requests_for_other_numbers_wait_for_each_other) {
  running run;
  run.world.take();
  run_turn asked;
  asked.requests = {{.asker = 7, .job = "a", .number = 2},
                    {.asker = 8, .job = "a", .number = 3}};
  run.turn(10, std::move(asked));
  EXPECT_EQ(run.world.take(), (lines{"ask 2 of coordinator-a-0.0"}));
  run_turn answered;
  answered.news = running_news();
  answered.news->answers = {{1, {}}};
  run.turn(20, std::move(answered));
  EXPECT_EQ(run.world.take(),
            (lines{"to 7: ok", "ask 2 of coordinator-a-0.0", "spawn 3.1", "pids"}));
}

TEST(run_shell, a_job_that_is_cancelled_is_on_record_before_that_is_said) {
  running run;
  run.world.take();
  run_turn asked;
  asked.cancels = {
      {.asker = 7, .job = "b"}, {.asker = 8, .job = "a"}, {.asker = 9, .job = "a"}};
  run.turn(10, std::move(asked));
  EXPECT_EQ(run.world.take(),
            (lines{"to 7: error no job 'b' in this run", "ask 5 of coordinator-a-0.0"}));
  run_turn ended;
  ended.news = running_news();
  ended.news->status.jobs[0].state = policies::job_state::failed;
  run.turn(20, std::move(ended));
  const auto seen = run.world.take();
  ASSERT_GE(seen.size(), 3U);
  EXPECT_EQ((lines{seen[0], seen[1], seen[2]}), (lines{"record a", "to 8: ok", "to 9: ok"}));
}

TEST(run_shell, who_cancels_a_job_hears_that_it_could_not_be_put_on_record_or_was_done) {
  for (const auto state : {policies::job_state::failed, policies::job_state::done}) {
    running run;
    run_turn asked;
    asked.cancels = {{.asker = 8, .job = "a"}};
    run.turn(10, std::move(asked));
    run.world.take();
    run.world.disk = {runtime::errc::io_error, "the disk is full"};
    run_turn ended;
    ended.news = running_news();
    ended.news->status.jobs[0].state = state;
    run.turn(20, std::move(ended));
    const auto expected = state == policies::job_state::done
                              ? "to 8: error job a has ended"
                              : "to 8: error job a ends, and begins again if the run is "
                                "resumed: the disk is full";
    const auto seen = run.world.take();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), expected), 1) << expected;
  }
}

lines about_spans(lines all) {
  std::erase_if(all, [](const auto& line) { return line.find("spans") == std::string::npos; });
  return all;
}

TEST(run_shell, collects_what_processes_have_noted_for_whoever_asks) {
  running run;
  run.world.take();
  run_turn asked;
  asked.traces = {{.asker = 8}};
  run.turn(10, std::move(asked));
  EXPECT_EQ(about_spans(run.world.take()), (lines{"spans of 0 ", "spans, at most 262144",
                                                  "spans of worker-a-0: 1", "end of spans"}));
}

TEST(run_shell, collects_what_led_to_a_failure_once) {
  running run;
  run.world.take();
  for (const std::int64_t now : {10, 20}) {
    run_turn failed;
    failed.news = running_news();
    failed.news->status.jobs[0].state = policies::job_state::failed;
    failed.news->status.jobs[0].failure = "a NaN";
    run.turn(now, std::move(failed));
    const auto seen = about_spans(run.world.take());
    if (now == 10)
      EXPECT_EQ(seen, (lines{"spans of 1 job a has failed: a NaN", "spans, at most 32768",
                             "spans of worker-a-0: 1", "end of spans"}));
    else
      EXPECT_TRUE(seen.empty());
  }
}

TEST(run_shell, a_spare_that_waits_takes_the_place_of_a_worker) {
  running run(0, 1);
  EXPECT_EQ(run.world.take().back(), "spare 1");
  run.turn(10, {},
           {policies::agent_reports::spare_ready{.spare = 1, .can_copy = false}, death_of(2)});
  run.world.take();
  run.is_told(20, 1);
  EXPECT_EQ(run.world.take(), (lines{"spawn 2.2 as a spare", "pids"}));
}

TEST(run_shell, a_spare_that_cannot_be_started_has_ended) {
  running run(0, 1);
  run.world.take();
  run.world.spares = {runtime::errc::io_error, "no memory"};
  run.turn(10, {}, {policies::agent_reports::spare_ended{.spare = 1, .why = "it was killed"}});
  EXPECT_EQ(run.world.take(), (lines{"spare 2"}));
  const auto pause = policies::supervision_spec().worker.backoff_first_ms * millisecond;
  EXPECT_EQ(run.shell.next_wake(), 10 + pause) << "the second death within its time";
  run.world.spares = {};
  run.turn(10 + pause, {});
  EXPECT_EQ(run.world.take(), (lines{"spare 3"}));
}

}  // namespace
}  // namespace tidegate::launch
