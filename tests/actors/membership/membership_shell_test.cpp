// Who joins a cluster, and again and again: each step, without a network.
#include "actors/membership/membership_shell.hpp"

#include <gtest/gtest.h>

namespace tidegate::actors {
namespace {

using action = membership_step::action;
using runtime::errc;
using runtime::status;

constexpr std::int64_t millisecond = 1'000'000;
const status nobody(errc::unavailable, "nobody listens");

TEST(membership_shell, joins_whom_it_has_found_and_stays) {
  membership_shell shell(1000);
  EXPECT_EQ(shell.begin(0).kind, action::find);
  EXPECT_EQ(shell.next(1).kind, action::join);
  EXPECT_EQ(shell.next(2).kind, action::stay);
}

TEST(membership_shell, looks_again_after_a_rest_while_nobody_listens) {
  membership_shell shell(1000);
  shell.begin(0);
  const auto first = shell.next(0, nobody);
  EXPECT_EQ(first.kind, action::rest);
  EXPECT_EQ(shell.next(first.pause_ns).kind, action::find);
  const auto second = shell.next(first.pause_ns, nobody);
  EXPECT_EQ(second.kind, action::rest);
  EXPECT_GT(second.pause_ns, first.pause_ns);
}

TEST(membership_shell, looks_for_another_when_a_join_is_cut_off) {
  membership_shell shell(1000);
  shell.begin(0);
  shell.next(0);
  const auto cut_off = shell.next(0, nobody);
  EXPECT_EQ(cut_off.kind, action::rest);
  EXPECT_EQ(shell.next(cut_off.pause_ns).kind, action::find);
}

TEST(membership_shell, begins_anew_with_all_its_time_when_the_coordinator_is_lost) {
  membership_shell shell(1000);
  shell.begin_found(0);
  EXPECT_EQ(shell.next(0).kind, action::stay);
  const auto later = 3600 * 1000 * millisecond;
  EXPECT_EQ(shell.next(later).kind, action::find);
  EXPECT_EQ(shell.next(later, nobody).kind, action::rest);
}

TEST(membership_shell, gives_up_after_its_time_and_says_why) {
  membership_shell shell(1000);
  shell.begin(0);
  const auto end = shell.next(1000 * millisecond, nobody);
  EXPECT_EQ(end.kind, action::give_up);
  EXPECT_EQ(end.why.message(), "nobody listens");
}

TEST(membership_shell, a_refusal_is_final) {
  membership_shell shell(1000);
  shell.begin(0);
  shell.next(0);
  EXPECT_EQ(shell.next(0, {errc::refused, "not of this run"}).kind, action::give_up);
}

}  // namespace
}  // namespace tidegate::actors
