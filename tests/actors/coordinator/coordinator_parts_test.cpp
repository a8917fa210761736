// The small parts of the coordinator's shell: who is listened to, who waits, who is called.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "actors/coordinator/call_receivers.hpp"
#include "actors/coordinator/pending_replies.hpp"
#include "actors/coordinator/sender_check.hpp"

namespace tidegate::actors {
namespace {

using runtime::errc;
using runtime::status;

constexpr std::uint64_t run_token = 7;

TEST(sender_check_test, refuses_another_run_and_those_that_were_put_out) {
  sender_check senders(run_token);
  EXPECT_TRUE(senders.check({run_token, 3}).ok());
  EXPECT_EQ(senders.check({run_token + 1, 3}).code(), errc::refused);
  senders.put_out(3, {errc::refused, "replaced"});
  EXPECT_EQ(senders.check({run_token, 3}).message(), "replaced");
  EXPECT_TRUE(senders.check_token({run_token, 3}).ok()) << "it may join";
  senders.joins(3);
  EXPECT_TRUE(senders.check({run_token, 3}).ok());
}

TEST(sender_check_test, says_why_it_is_closed_but_to_those_that_were_put_out) {
  sender_check senders(run_token);
  senders.put_out(3, {errc::refused, "replaced"});
  senders.close({errc::unavailable, "ended"});
  EXPECT_EQ(senders.check({run_token, 2}).code(), errc::unavailable);
  EXPECT_EQ(senders.check({run_token, 3}).code(), errc::refused);
}

TEST(pending_replies_test, answers_each_ticket_once) {
  pending_replies replies;
  std::vector<std::string> said;
  const auto into = [&said](const std::string& name) {
    return [&said, name](const control_reply& reply) {
      said.push_back(name + " " + reply.result.message());
    };
  };
  const auto kept = replies.wait(into("first"));
  const auto answered = replies.wait(into("second"));
  EXPECT_NE(kept, answered);
  policies::coordinator_effects::answer answer;
  answer.to = answered;
  answer.result = {errc::refused, "no"};
  replies.deliver(answer);
  replies.deliver(answer);
  EXPECT_EQ(said, std::vector<std::string>{"second no"});
  replies.refuse_all({errc::unavailable, "ended"});
  replies.refuse_all({errc::unavailable, "ended"});
  EXPECT_EQ(said, (std::vector<std::string>{"second no", "first ended"}));
}

TEST(call_receivers_test, keeps_the_latest_connection_of_a_place) {
  call_receivers receivers;
  EXPECT_EQ(receivers.find_callee({"", 0, 0}), nullptr);
  receivers.keep_callee({"", 0, 0}, {1, 1});
  receivers.keep_callee({"a", 0, 0}, {2, 2});
  receivers.keep_callee({"", 0, 0}, {3, 3});
  EXPECT_EQ(receivers.callee({"", 0, 0}).handle, 3U);
  EXPECT_EQ(receivers.callees().size(), 2U);
  EXPECT_FALSE(receivers.contains(1));
  EXPECT_TRUE(receivers.contains(2));
}

TEST(call_receivers_test, tells_of_a_move_to_a_worker_that_listens) {
  call_receivers receivers;
  policies::coordinator_effects::tell_moved move;
  move.job = "a";
  move.index = 1;
  EXPECT_EQ(receivers.listener_of(move), nullptr);
  EXPECT_TRUE(receivers.listen("a", 1, 2, {4, 4}));
  EXPECT_FALSE(receivers.listen("a", 1, 1, {5, 5})) << "its successor listens";
  EXPECT_TRUE(receivers.listen("a", 1, 2, {6, 4})) << "over another connection";
  ASSERT_NE(receivers.listener_of(move), nullptr);
  EXPECT_EQ(receivers.listener_of(move)->handle, 6U);
  move.aggregates = true;
  EXPECT_EQ(receivers.listener_of(move), nullptr);
  receivers.keep_callee({"a", 1, 0}, {8, 8});
  EXPECT_EQ(receivers.listener_of(move)->handle, 8U);
}

}  // namespace
}  // namespace tidegate::actors
