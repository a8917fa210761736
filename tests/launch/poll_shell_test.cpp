// The launcher's conversation with the coordinator, step by step.
#include "launch/run/poll_shell.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

using action = poll_step::action;
using runtime::errc;
using runtime::status;

const status silent(errc::timed_out, "no answer");

poll_shell connected_shell() {
  poll_shell shell({.interval_ns = 200, .patience_ns = 1000});
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

TEST(poll_shell, a_coordinator_that_is_silent_is_not_told_the_end) {
  auto shell = connected_shell();
  shell.finish({{"a", "died"}});
  EXPECT_EQ(shell.next(1, silent).kind, action::done);
}

}  // namespace
}  // namespace tidegate::launch
