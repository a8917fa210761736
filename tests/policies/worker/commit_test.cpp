// A worker that keeps state commits before the last push of a clock leaves.
#include <string>

#include "tests/policies/worker/fixture.hpp"

namespace tidegate::policies {
namespace {

// What the core asks for, in order: "commit 1, push 3.0, done 7".
std::string text(worker_effects& out) {
  std::string all;
  const auto add = [&](const std::string& part) { all += (all.empty() ? "" : ", ") + part; };
  if (out.commit) add("commit " + std::to_string(*out.commit));
  for (const auto& send : out.sends) {
    const auto where = std::to_string(send.table) + "." + std::to_string(send.chunk);
    if (send.kind == kind::push)
      add("push " + where + (send.pulls ? " and pull" : ""));
    else
      add((send.kind == kind::skip ? "skip " : "other ") + where);
  }
  for (const auto& done : out.dones) add("done " + std::to_string(done.op));
  out.clear();
  return all;
}

class commits : public testing::Test {
 protected:
  void keep() {
    ASSERT_EQ(core.keep_state(100, out), errc::ok);
    EXPECT_EQ(text(out), "done 100");
  }
  std::string push(std::uint32_t table, operation op) {
    EXPECT_EQ(core.push(table, op, out), errc::ok);
    return text(out);
  }
  std::string clock(operation op) {
    EXPECT_EQ(core.clock(op, out), errc::ok);
    return text(out);
  }

  worker_core core = make_core();
  worker_effects out;
};

TEST_F(commits, a_worker_without_state_holds_nothing_back) {
  EXPECT_EQ(push(3, 1), "push 3.0, push 3.1");
  EXPECT_EQ(push(4, 2), "push 4.0");
  EXPECT_EQ(clock(3), "done 3");
}

TEST_F(commits, the_last_push_of_a_clock_leaves_after_the_commit) {
  keep();
  EXPECT_EQ(push(4, 1), "push 4.0") << "another table has no push yet";
  EXPECT_EQ(push(3, 2), "") << "the last one";
  EXPECT_EQ(clock(3), "commit 1, push 3.0, push 3.1, done 3");
  EXPECT_EQ(push(3, 4), "push 3.0, push 3.1") << "of the next clock";
  EXPECT_EQ(push(4, 5), "");
  EXPECT_EQ(clock(6), "commit 2, push 4.0, done 6");
}

TEST_F(commits, skips_leave_after_the_commit) {
  keep();
  EXPECT_EQ(push(3, 1), "push 3.0, push 3.1");
  EXPECT_EQ(clock(2), "commit 1, skip 4.0, done 2");
  EXPECT_EQ(clock(3), "commit 2, skip 3.0, skip 3.1, skip 4.0, done 3");
}

TEST_F(commits, an_exchange_commits_before_it_sends) {
  keep();
  const std::uint32_t tables[] = {3, 4};
  ASSERT_EQ(core.exchange(tables, 1, out), errc::ok);
  EXPECT_EQ(text(out), "commit 1, push 3.0 and pull, push 3.1 and pull, push 4.0 and pull");
}

TEST_F(commits, an_exchange_of_no_table_lets_the_held_push_leave) {
  keep();
  EXPECT_EQ(push(3, 1), "push 3.0, push 3.1");
  EXPECT_EQ(push(4, 2), "");
  ASSERT_EQ(core.exchange({}, 3, out), errc::ok);
  EXPECT_EQ(text(out), "commit 1, push 4.0, done 3");
}

TEST_F(commits, who_waits_for_a_push_commits_and_the_clock_does_not_again) {
  keep();
  EXPECT_EQ(push(3, 1), "push 3.0, push 3.1");
  ASSERT_EQ(core.release(2, out), errc::ok);
  EXPECT_EQ(text(out), "done 2") << "nothing is held back";
  EXPECT_EQ(push(4, 3), "");
  ASSERT_EQ(core.release(4, out), errc::ok);
  EXPECT_EQ(text(out), "commit 1, push 4.0, done 4");
  ASSERT_EQ(core.release(5, out), errc::ok);
  EXPECT_EQ(text(out), "done 5");
  EXPECT_EQ(clock(6), "done 6");
}

TEST_F(commits, state_that_begins_after_the_last_push_has_left_is_refused) {
  EXPECT_EQ(push(3, 1), "push 3.0, push 3.1");
  EXPECT_EQ(push(4, 2), "push 4.0");
  EXPECT_EQ(core.keep_state(3, out), errc::out_of_order);
  EXPECT_EQ(text(out), "");
  EXPECT_EQ(clock(4), "done 4") << "it keeps nothing";
  keep();
  EXPECT_EQ(clock(5), "commit 2, skip 3.0, skip 3.1, skip 4.0, done 5");
}

TEST_F(commits, state_may_begin_between_two_pushes) {
  EXPECT_EQ(push(3, 1), "push 3.0, push 3.1");
  keep();
  EXPECT_EQ(push(4, 2), "");
  EXPECT_EQ(clock(3), "commit 1, push 4.0, done 3");
}

TEST_F(commits, a_push_that_is_held_back_is_not_sent_again) {
  keep();
  core.set_retransmit_limits({.first_ns = 1, .growth = 2});
  EXPECT_EQ(push(4, 1), "push 4.0");
  EXPECT_EQ(push(3, 2), "");
  core.tick(1, out);
  core.tick(1'000'000, out);
  EXPECT_EQ(text(out), "push 4.0");
  core.shard_moved(0);
  core.retransmit(0, out);
  core.resend(1, out);
  EXPECT_EQ(text(out), "push 4.0");
}

TEST_F(commits, a_held_push_waits_for_the_clock_before_where_one_is_in_flight) {
  core.set_one_clock_in_flight();
  keep();
  EXPECT_EQ(push(3, 1), "push 3.0, push 3.1");
  EXPECT_EQ(push(4, 2), "");
  EXPECT_EQ(clock(3), "commit 1, push 4.0, done 3");
  EXPECT_EQ(push(3, 4), "") << "of a clock that waits";
  EXPECT_EQ(push(4, 5), "");
  ack_all(core, 0, out);
  EXPECT_EQ(text(out), "push 3.0, push 3.1, done 1, done 2") << "not the one held back";
  EXPECT_EQ(clock(6), "commit 2, push 4.0, done 6");
}

// A worker in the place of another whose pushes chunks may have, of two clocks.
class commits_after_a_resume : public commits {
 protected:
  commits_after_a_resume() {
    core = worker_core(2, 0, 2);
    core.add_table(3, {{.chunk = 0, .shard = 0, .first = 0, .elements = 8}});
    core.add_table(4, {{.chunk = 0, .shard = 1, .first = 0, .elements = 2}});
  }
};

TEST_F(commits_after_a_resume, all_pushes_wait_for_the_commit_at_first) {
  keep();
  EXPECT_EQ(push(4, 1), "");
  EXPECT_EQ(push(3, 2), "");
  EXPECT_EQ(clock(3), "commit 1, push 3.0, push 4.0, done 3");
  EXPECT_EQ(push(4, 4), "");
  EXPECT_EQ(clock(5), "commit 2, push 4.0, skip 3.0, done 5");
  core.on_ack(3, 0, 0, reply_code::ok, out);
  core.on_ack(4, 0, 0, reply_code::ok, out);
  out.clear();
  EXPECT_EQ(push(4, 6), "push 4.0") << "of a clock that nobody has pushed";
  EXPECT_EQ(push(3, 7), "");
}

TEST_F(commits_after_a_resume, a_wait_in_the_middle_of_a_clock_lets_go_without_a_commit) {
  keep();
  EXPECT_EQ(push(4, 1), "");
  ASSERT_EQ(core.release(2, out), errc::ok);
  EXPECT_EQ(text(out), "push 4.0, done 2") << "what is kept may still change";
  EXPECT_EQ(push(3, 3), "") << "the last one";
  ASSERT_EQ(core.release(4, out), errc::ok);
  EXPECT_EQ(text(out), "commit 1, push 3.0, done 4");
}

TEST_F(commits_after_a_resume, state_begins_before_the_first_push_of_a_clock) {
  EXPECT_EQ(push(4, 1), "push 4.0");
  EXPECT_EQ(core.keep_state(2, out), errc::out_of_order);
}

TEST_F(commits, a_failure_forgets_what_is_held_back) {
  keep();
  EXPECT_EQ(push(4, 1), "push 4.0");
  EXPECT_EQ(push(3, 2), "");
  core.on_ack(4, 0, 0, reply_code::beyond_window, out);
  EXPECT_EQ(text(out), "done 2, done 1");
  EXPECT_EQ(core.clock(3, out), errc::cancelled);
  EXPECT_EQ(core.release(4, out), errc::cancelled);
  EXPECT_EQ(core.keep_state(5, out), errc::cancelled);
}

}  // namespace
}  // namespace tidegate::policies
