// What a session does beside pushing and pulling, each turn, without a coordinator.
#include "actors/client/session_shell.hpp"

#include <gtest/gtest.h>

namespace tidegate::actors {
namespace {

using step = policies::session_step::action;
using runtime::errc;
using runtime::status;

constexpr std::int64_t millisecond = 1'000'000;
const status away(errc::unavailable, "it has gone");

session_shell joined_session() {
  session_shell session({.give_up_ms = 1000});
  session.join(0, {.job = "mlp", .rank = 2, .incarnation = 1, .address = "address"});
  session.next(0, {}, policies::worker_welcome());
  return session;
}

TEST(session_shell, asks_again_after_a_rest_while_the_coordinator_is_away) {
  session_shell session({.give_up_ms = 1000});
  auto turn =
      session.join(0, {.job = "mlp", .rank = 2, .incarnation = 1, .address = "address"});
  EXPECT_EQ(turn.step.kind, step::ask_welcome);
  EXPECT_EQ(turn.doing, "joining job mlp as rank 2");
  turn = session.next(0, away);
  ASSERT_TRUE(turn.rest_ns);
  turn = session.rested(*turn.rest_ns);
  EXPECT_FALSE(turn.rest_ns);
  EXPECT_EQ(turn.step.kind, step::ask_welcome);
  EXPECT_EQ(session.next(1, {}, policies::worker_welcome()).step.kind, step::done);
}

TEST(session_shell, each_question_has_all_the_time) {
  auto session = joined_session();
  const auto later = 3600 * 1000 * millisecond;
  session.finish(0);
  auto turn = session.next(later, {});
  EXPECT_EQ(turn.step.kind, step::tell_finished);
  EXPECT_TRUE(session.next(later, away).rest_ns);
  session.rested(later);
  turn = session.next(later + 1000 * millisecond, away);
  EXPECT_FALSE(turn.rest_ns);
  EXPECT_EQ(turn.step.result.code(), errc::unavailable);
}

TEST(session_shell, asks_once_when_no_coordinator_comes_back) {
  auto session = joined_session();
  session.give_up_coordinator();
  session.tell_metric(0, "loss", 0.5);
  EXPECT_EQ(session.next(0, away).step.result.code(), errc::unavailable);
}

TEST(session_shell, work_of_the_worker_that_fails_is_not_done_again) {
  auto session = joined_session();
  EXPECT_EQ(session.finish(0).step.kind, step::farewell);
  const auto end = session.next(0, away);
  EXPECT_FALSE(end.rest_ns);
  EXPECT_EQ(end.step.kind, step::done);
}

TEST(session_shell, who_leaves_without_finishing_says_so) {
  auto session = joined_session();
  EXPECT_EQ(session.leave(0).step.why, "worker 2 left before finish()");
}

TEST(session_shell, reports_no_more_often_than_it_may) {
  session_shell session({.give_up_ms = 0, .report_interval_ns = 100});
  EXPECT_TRUE(session.report_is_due(0, false));
  EXPECT_FALSE(session.report_is_due(99, false));
  EXPECT_TRUE(session.report_is_due(99, true));
  EXPECT_FALSE(session.report_is_due(198, false));
  EXPECT_TRUE(session.report_is_due(199, false));
}

}  // namespace
}  // namespace tidegate::actors
