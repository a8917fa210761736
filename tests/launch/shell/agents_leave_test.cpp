// How a run ends with agents of other hosts that do not leave.
#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "policies/model/millisecond.hpp"
#include "tests/launch/shell/run_shell_world.hpp"

namespace tidegate::launch {
namespace {

// A run with another host, whose agent does not leave when everything has ended.
struct deaf_host {
  deaf_host() {
    auto plan = small_plan();
    plan.hosts = {{.name = "own", .room = {}}, {.name = "blue", .room = {}}};
    world.others_come = true;
    shell.emplace(plan, world, 1);
    shell->begin(0);
    turn(1, {}, {coordinator_listens});
    run_turn told;
    told.news = running_news();
    turn(2, std::move(told));
    stop(3);
    for (const policies::process_number process : {2U, 1U, 0U})
      turn(6 - process, {}, {death_of(process)});
    world.take();
  }
  void turn(std::int64_t now, run_turn happened,
            std::vector<policies::agent_report> reports = {}) {
    world.now = now;
    world.agent.turn(now, {.link = {}, .frames = {}, .reports = std::move(reports)});
    shell->turn(now, std::move(happened));
  }
  void stop(std::int64_t now) {
    run_turn asked;
    asked.signals.push_back({.name = "SIGTERM"});
    turn(now, std::move(asked));
  }
  world_of_words world;
  std::optional<run_shell> shell;
};

TEST(run_shell, an_agent_that_does_not_leave_is_ended_and_so_is_the_run) {
  deaf_host run;
  ASSERT_EQ(run.shell->ended(), nullptr);
  auto now = std::int64_t{10};
  for (int turns = 0; turns < 20 && run.shell->ended() == nullptr; ++turns) {
    now = std::max(now + policies::millisecond, run.shell->next_wake());
    run.turn(now, {});
  }
  ASSERT_NE(run.shell->ended(), nullptr);
  EXPECT_LE(now, 10'100 * policies::millisecond) << "supervision.unreachable";
  EXPECT_EQ(run.world.take(), (lines{"end agent 1"}));
}

TEST(run_shell, who_stops_a_run_again_does_not_wait_for_an_agent_that_does_not_leave) {
  deaf_host run;
  run.stop(20);
  run.turn(21, {});
  EXPECT_EQ(run.world.take(), (lines{"end agent 1"}));
  EXPECT_NE(run.shell->ended(), nullptr);
}

}  // namespace
}  // namespace tidegate::launch
