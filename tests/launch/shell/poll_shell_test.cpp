// The launcher's conversation with the coordinator, step by step.
#include "launch/shell/poll_shell.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

using action = poll_step::action;
using runtime::errc;
using runtime::status;

const status silent(errc::timed_out, "no answer");
const status lost(errc::unavailable, "the connection broke");

poll_shell connected_shell() {
  poll_shell shell({.interval_ns = 200, .give_up_ns = 1000});
  shell.begin(0);
  shell.next(0);
  return shell;
}

TEST(poll_shell, a_request_during_a_poll_is_answered_by_the_next_one) {
  auto shell = connected_shell();
  EXPECT_EQ(shell.poll_now(), 1U);
  EXPECT_EQ(shell.next(1, {}).kind, action::rest);
  EXPECT_EQ(shell.news().answered, 0U);
  EXPECT_TRUE(shell.ends_rest());
  EXPECT_EQ(shell.next(2).kind, action::poll);
  shell.next(3, {});
  EXPECT_EQ(shell.news().answered, 1U);
  EXPECT_FALSE(shell.ends_rest());
}

TEST(poll_shell, a_question_without_an_answer_is_asked_again_after_the_next_poll) {
  auto shell = connected_shell();
  const auto number = shell.ask();
  auto step = shell.next(1, {});
  EXPECT_EQ(step.kind, action::ask);
  EXPECT_EQ(step.question, number);
  EXPECT_EQ(shell.next(2, silent).kind, action::rest);
  EXPECT_FALSE(shell.ends_rest()) << "it is not asked in a circle";
  EXPECT_EQ(shell.next(3).kind, action::poll);
  EXPECT_EQ(shell.next(4, {}).kind, action::ask);
  shell.next(5, {errc::refused, "it is the last"});
  const auto news = shell.take();
  ASSERT_EQ(news.answers.size(), 1U);
  EXPECT_EQ(news.answers[0].second.code(), errc::refused);
  EXPECT_FALSE(shell.is_open(number));
  EXPECT_TRUE(shell.take().answers.empty());
}

TEST(poll_shell, a_poll_that_is_lost_with_its_connection_is_repeated_over_a_new_one) {
  auto shell = connected_shell();
  policies::cluster_status status;
  status.events.resize(3);
  shell.next(1, {}, status);
  const auto poll = shell.next(2);
  EXPECT_EQ(shell.next(3, lost).kind, action::reconnect);
  EXPECT_TRUE(shell.news().health.ok()) << "of the coordinator nothing is known";
  const auto repeated = shell.next(4);
  EXPECT_EQ(repeated.kind, action::poll);
  EXPECT_EQ(repeated.events_seen, poll.events_seen);
  EXPECT_EQ(shell.next(5, {}, status).kind, action::rest);
  EXPECT_EQ(shell.take().status.events.size(), 6U);
}

TEST(poll_shell, a_poll_that_is_lost_twice_has_failed) {
  auto shell = connected_shell();
  const auto asked = shell.poll_now();
  shell.next(1, {});
  shell.next(2);
  EXPECT_EQ(shell.next(3, lost).kind, action::reconnect);
  EXPECT_EQ(shell.next(4).kind, action::poll);
  EXPECT_EQ(shell.next(5, lost).kind, action::rest);
  EXPECT_EQ(shell.news().health.message(), lost.message());
  EXPECT_EQ(shell.news().answered, asked);
  EXPECT_EQ(shell.next(6).kind, action::poll);
  EXPECT_EQ(shell.next(7, lost).kind, action::reconnect)
      << "the next one has two attempts, too";
}

TEST(poll_shell, a_question_where_nobody_listens_is_asked_after_the_next_poll) {
  auto shell = connected_shell();
  const auto number = shell.ask();
  shell.next(1, {});
  EXPECT_EQ(shell.next(2, lost).kind, action::reconnect);
  EXPECT_EQ(shell.next(3, {errc::unavailable, "nobody listens"}).kind, action::rest);
  EXPECT_TRUE(shell.is_open(number));
  EXPECT_EQ(shell.next(4).kind, action::poll);
  EXPECT_EQ(shell.next(5, {}).question, number);
}

TEST(poll_shell, the_end_is_told_over_a_new_connection_once) {
  auto shell = connected_shell();
  shell.finish({{"a", "died"}});
  EXPECT_EQ(shell.next(1, {}).kind, action::fail_job);
  EXPECT_EQ(shell.next(2, lost).kind, action::reconnect);
  const auto repeated = shell.next(3);
  EXPECT_EQ(repeated.kind, action::fail_job);
  EXPECT_EQ(repeated.job, "a");
  EXPECT_EQ(shell.next(4, {}).kind, action::stop);
  EXPECT_EQ(shell.next(5, lost).kind, action::reconnect);
  EXPECT_EQ(shell.next(6, lost).kind, action::done);
}

TEST(poll_shell, a_coordinator_that_is_silent_is_not_told_the_end) {
  auto shell = connected_shell();
  shell.finish({{"a", "died"}});
  EXPECT_EQ(shell.next(1, silent).kind, action::done);
}

}  // namespace
}  // namespace tidegate::launch
