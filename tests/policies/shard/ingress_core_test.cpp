// What a front does with frames: here, those of a worker that has come back.
#include "policies/shard/ingress_core.hpp"

#include <gtest/gtest.h>

#include "tests/policies/shard/ingress_fixture.hpp"

namespace tidegate::policies {
namespace {

TEST_F(ingress_of_two, who_comes_back_to_a_push_that_is_held_gets_the_pull_that_came_with_it) {
  EXPECT_TRUE(arrive(exchange(1, 1)));
  join(1, 2, 7);
  EXPECT_FALSE(arrive(exchange(1, 2))) << "it is here";
  EXPECT_EQ(replies_to(7), 0) << "rank 0 has not pushed";
  EXPECT_TRUE(arrive(exchange(0, 1)));
  EXPECT_EQ(replies_to(0), 1);
  EXPECT_EQ(replies_to(7), 1);
  EXPECT_EQ(replies_to(1), 0) << "nothing for the dead";
}

TEST_F(ingress_of_two,
       who_comes_back_to_a_push_that_is_applied_gets_the_pull_that_came_with_it) {
  EXPECT_TRUE(arrive(exchange(1, 1)));
  EXPECT_TRUE(arrive(exchange(0, 1)));
  join(1, 2, 7);
  EXPECT_FALSE(arrive(exchange(1, 2)));
  EXPECT_EQ(replies_to(7), 1);
}

TEST_F(ingress_of_two, a_frame_that_comes_twice_is_answered_once) {
  EXPECT_TRUE(arrive(exchange(1, 1)));
  EXPECT_FALSE(arrive(exchange(1, 1)));
  EXPECT_TRUE(arrive(exchange(0, 1)));
  EXPECT_FALSE(arrive(exchange(1, 1)));
  EXPECT_EQ(replies_to(1), 1);
}

constexpr std::int64_t ms = millisecond;

TEST_F(ingress_of_two, a_broken_connection_is_made_again_and_the_member_asked_to_send_again) {
  ingress_.connection_broke(1, 0);
  EXPECT_TRUE(ingress_.is_mending());
  EXPECT_TRUE(arrive(exchange(1, 1))) << "frames still come: only our side broke";
  EXPECT_TRUE(arrive(exchange(0, 1)));
  EXPECT_EQ(replies_to(1), 0);
  shell_.next_peer = 9;
  ingress_.mend(10 * ms);
  ASSERT_EQ(shell_.frames.back().to, 9u);
  const auto asked = shell_.frames.back().header;
  EXPECT_EQ(asked.kind, frame_kind::resend);
  EXPECT_EQ(asked.epoch, epoch);
  EXPECT_NE(asked.request, 0u);
  // The worker's answer, and what it sends again.
  auto answer = asked;
  answer.kind = frame_kind::resent;
  answer.flags = runtime::frame_flag_up;
  ingress_.frame(answer, no_payload, {}, 0);
  EXPECT_FALSE(ingress_.is_mending());
  auto pull = header_of(frame_kind::pull, tag(1, 1), reply_code::ok);
  pull.request = 99;
  ingress_.frame(pull, no_payload, {}, 0);
  EXPECT_EQ(replies_to(9), 1);
}

// A coordinator that came back admits everybody once more.
TEST_F(ingress_of_two, a_member_that_is_admitted_again_after_its_connection_broke_is_asked) {
  ingress_.connection_broke(1, 0);
  EXPECT_TRUE(arrive(exchange(1, 1)));
  EXPECT_TRUE(arrive(exchange(0, 1)));
  EXPECT_EQ(replies_to(1), 0) << "it was lost";
  EXPECT_FALSE(ingress_.admit({job, 1, 1, "", {5}}).connect);
  EXPECT_TRUE(ingress_.is_mending());
  shell_.next_peer = 9;
  ingress_.mend(10 * ms);
  ASSERT_EQ(shell_.frames.back().to, 9u);
  EXPECT_EQ(shell_.frames.back().header.kind, frame_kind::resend);
}

TEST_F(ingress_of_two, a_member_that_is_out_of_reach_and_admitted_again_is_connected_to) {
  ingress_.peer_lost(1);
  EXPECT_FALSE(ingress_.admit({job, 1, 1, "", {5}}).connect);
  ASSERT_TRUE(ingress_.is_mending());
  shell_.next_peer = 9;
  ingress_.mend(0);
  EXPECT_EQ(shell_.frames.back().to, 9u);
}

TEST_F(ingress_of_two, a_member_whose_process_has_ended_is_not_connected_to_again) {
  ingress_.peer_lost(1);
  EXPECT_FALSE(ingress_.is_mending());
}

class ingress_of_a_replica : public ingress_of_two {
 protected:
  ingress_of_a_replica() : ingress_of_two(0) {}
};

TEST_F(ingress_of_a_replica, connects_to_members_again_when_it_is_promoted) {
  ingress_.connection_broke(1, 0);
  EXPECT_FALSE(ingress_.is_mending()) << "the member may have finished, and answers no replica";
  shard_effects effects;
  core_.follower().promote(job, epoch, effects);
  ingress_.promoted(job);
  ASSERT_TRUE(ingress_.is_mending());
  shell_.next_peer = 9;
  ingress_.mend(10 * ms);
  EXPECT_EQ(shell_.frames.back().to, 9u);
}

TEST_F(ingress_of_two, the_next_process_of_a_rank_ends_the_attempts_for_the_one_before) {
  ingress_.connection_broke(1, 0);
  join(1, 2, 7);
  EXPECT_FALSE(ingress_.is_mending());
}

TEST_F(ingress_of_two, a_push_that_is_cut_off_is_asked_for) {
  const auto push = exchange(1, 1);
  EXPECT_TRUE(ingress_.place(push));
  shell_.frames.clear();
  ingress_.frame_lost(push);
  ASSERT_EQ(shell_.frames.size(), 1u);
  EXPECT_EQ(shell_.frames[0].to, 1u);
  EXPECT_EQ(shell_.frames[0].header.kind, frame_kind::resend);
  EXPECT_EQ(shell_.frames[0].header.request, 0u) << "no attempt, no answer";
  EXPECT_TRUE(arrive(push));
}

// Its list of ids is named, and not kept: with the list it comes again.
TEST_F(ingress_of_two, what_was_refused_for_its_payload_may_come_again) {
  auto push = exchange(1, 1);
  push.flags = 0;
  auto call = header_of(frame_kind::call, tag(1, 0), reply_code::ok);
  call.payload_bytes = runtime::call_payload_bytes;
  auto next = call;
  ++next.request;
  EXPECT_TRUE(ingress_.place(push) && ingress_.place(call));
  EXPECT_FALSE(ingress_.place(next)) << "the same call is on its way";
  for (const auto& refused : {push, call})
    ingress_.refuse_payload(refused, reply_code::unknown_list);
  while (std::exchange(shell_.goes_on, false)) ingress_.go_on();
  ASSERT_EQ(shell_.frames.size(), 2U);
  for (const auto& [peer, header] : shell_.frames) {
    EXPECT_EQ(header.code, static_cast<std::uint32_t>(reply_code::unknown_list));
    EXPECT_TRUE(header.kind != frame_kind::pull_reply || header.request == next.request);
  }
  EXPECT_TRUE(arrive(push));
  EXPECT_FALSE(arrive(push)) << "once";
  ++next.request;
  EXPECT_TRUE(ingress_.place(next));
}

TEST_F(ingress_of_two, what_was_refused_for_want_of_a_table_is_asked_for_when_it_is_there) {
  auto unknown = tag(1, 0);
  unknown.table = 6;
  ingress_.frame(header_of(frame_kind::skip, unknown, reply_code::ok), no_payload, {}, 0);
  ASSERT_FALSE(shell_.frames.empty());
  EXPECT_NE(shell_.frames.back().header.code, 0u);
  shell_.frames.clear();
  const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8}};
  core_.admin().open_table(job, 6, places);
  ingress_.table_opened(job);
  ASSERT_EQ(shell_.frames.size(), 1u) << "the member that was refused, and no other";
  EXPECT_EQ(shell_.frames[0].to, 1u);
  EXPECT_EQ(shell_.frames[0].header.kind, frame_kind::resend);
}

// Nothing else would have it sent again: its sender knows that it arrived.
TEST_F(ingress_of_two, a_window_whose_name_finds_no_room_is_asked_for_when_there_is_some) {
  const auto attach = header_of(frame_kind::attach, tag(1, 0), reply_code::ok);
  const auto asked = [&] {
    int found = 0;
    for (const auto& [peer, header] : shell_.frames)
      found += peer == 1 && header.kind == frame_kind::resend;
    return found;
  };
  EXPECT_TRUE(ingress_.place(attach));
  ingress_.no_place(attach);
  EXPECT_EQ(asked(), 0) << "there is no room";
  ingress_.frame(header_of(frame_kind::attach, tag(0, 0), reply_code::ok), no_payload, {}, 0);
  EXPECT_EQ(asked(), 1) << "the room of that is free";
  ingress_.frame(attach, no_payload, {}, 0);
  EXPECT_EQ(asked(), 1);
  // One that is cut off gives its room back, too.
  ingress_.no_place(attach);
  ingress_.frame_lost(header_of(frame_kind::attach, tag(0, 0), reply_code::ok));
  EXPECT_EQ(asked(), 2);
}

TEST_F(ingress_of_two, an_answer_beyond_two_under_way_follows_when_one_has_been_sent) {
  shell_.holds_sent = true;
  for (std::uint32_t rank = 0; rank < 2; ++rank) arrive(exchange(rank, 1));
  auto pull = header_of(frame_kind::pull, tag(1, 1), reply_code::ok);
  for (const std::uint64_t request : {50U, 51U}) {
    pull.request = request;
    ingress_.frame(pull, no_payload, {}, 0);
  }
  EXPECT_EQ(replies_to(1), 2) << "the third waits";
  ingress_.sent(shell_.held.front());
  while (std::exchange(shell_.goes_on, false)) ingress_.go_on();
  ASSERT_EQ(replies_to(1), 3);
  EXPECT_EQ(shell_.frames.back().header.request, 51u) << "under the number asked last";
}

// A worker alone, with two tables in place.
class acks_of_rings : public testing::Test {
 protected:
  acks_of_rings() : ingress_(shell_, core_, 0) {
    shell_.core = &ingress_;
    shell_.windows = true;
    core_.admin().open_job(job, {.epoch = epoch,
                                 .workers = 1,
                                 .consistency = {consistency_kind::async, 0},
                                 .workers_come_back = true,
                                 .members = {}});
    const std::vector<chunk_place> places{{.chunk = 0, .shard = 0, .first = 0, .elements = 8},
                                          {.chunk = 1, .shard = 0, .first = 8, .elements = 8}};
    for (const auto table : {5U, 6U}) core_.admin().open_table(job, table, places);
    const admit_worker_call call{
        .token = job, .rank = 0, .incarnation = 1, .address = "", .tables = {5, 6}};
    EXPECT_EQ(ingress_.admit(call).code, reply_code::ok);
    ingress_.connected(call, 3);
    for (const auto table : {5U, 6U})
      ingress_.frame(frame(frame_kind::attach, table), 0, {}, 0);
    shell_.frames.clear();
  }
  frame_header frame(frame_kind kind, std::uint32_t table) const {
    auto name = tag(0, 0);
    name.table = table;
    auto header = header_of(kind, name, reply_code::ok);
    header.incarnation = 1;
    return header;
  }
  void ring(std::uint32_t table) {
    auto header = frame(frame_kind::doorbell, table);
    header.flags = runtime::frame_flag_skip;
    ingress_.frame(header, no_payload, {}, 0);
  }

  noting_shell shell_;
  shard_core core_;
  ingress_core ingress_;
};

TEST_F(acks_of_rings, whose_tables_are_all_applied_in_a_turn_is_told_at_once) {
  ring(runtime::whole_job);
  EXPECT_TRUE(shell_.frames.empty()) << "at the end of the turn";
  ASSERT_TRUE(shell_.posts);
  ingress_.post_acks();
  ASSERT_EQ(shell_.frames.size(), 1U);
  const auto& ack = shell_.frames[0].header;
  EXPECT_EQ(ack.kind, frame_kind::doorbell_ack);
  EXPECT_EQ(ack.table, runtime::whole_job);
  EXPECT_EQ(ack.count, 0U);
  EXPECT_EQ(ack.code, 0U);
  EXPECT_EQ(ack.clock, 0U);
  ingress_.post_acks();
  EXPECT_EQ(shell_.frames.size(), 1U) << "told once";
}

TEST_F(acks_of_rings, runs_that_the_table_does_not_have_are_refused) {
  for (const auto& [first, count] :
       {std::pair{2U, 1U}, {0U, 3U}, {0xffff'ffffU, 1U}, {1U, 0xffff'ffffU}}) {
    auto header = frame(frame_kind::doorbell, 5);
    header.flags = runtime::frame_flag_push;
    header.chunk = first;
    header.count = count;
    ingress_.frame(header, no_payload, {}, 0);
    header.table = runtime::whole_job;  // which has no runs
    ingress_.frame(header, no_payload, {}, 0);
  }
  EXPECT_EQ(core_.pushes_held(), 0U);
  auto header = frame(frame_kind::doorbell, 5);
  header.flags = runtime::frame_flag_push;
  header.count = 1;
  ingress_.frame(header, no_payload, {}, 0);
  ingress_.post_acks();
  EXPECT_EQ(shell_.frames.size(), 1U) << "the one that is there";
}

TEST_F(acks_of_rings, tables_that_are_applied_in_another_order_are_told_at_once) {
  ring(6);
  ring(5);
  ring(6);
  ingress_.post_acks();
  ASSERT_EQ(shell_.frames.size(), 1U);
  EXPECT_EQ(shell_.frames[0].header.table, runtime::whole_job);
}

TEST_F(acks_of_rings, one_of_two_tables_told_twice_is_not_both) {
  ring(5);
  ring(5);
  ingress_.post_acks();
  ASSERT_EQ(shell_.frames.size(), 2U);
  for (const auto& [peer, header] : shell_.frames) {
    EXPECT_EQ(header.table, 5U);
    EXPECT_EQ(header.count, 2U);
  }
}

}  // namespace
}  // namespace tidegate::policies
