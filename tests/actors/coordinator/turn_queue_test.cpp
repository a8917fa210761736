#include "actors/coordinator/turn_queue.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/actors/coordinator/recording_port.hpp"

namespace tidegate::actors {
namespace {

using runtime::errc;
using runtime::status;

class turn_queue_test : public testing::Test, private turn_queue::owner {
 protected:
  // A turn that is known by the handle of a peer that it goes to.
  static turn turn_to(std::uint64_t handle, bool has_records = false) {
    turn next;
    next.callees.push_back({.handle = handle});
    if (has_records) next.effects.records.emplace_back();
    return next;
  }

  recording_port journal;
  turn_queue turns{*this, journal};
  std::vector<std::uint64_t> performed;
  std::optional<turn> follows;  // is added by the next turn that is performed
  status failure;

 private:
  void perform(turn& done) override {
    performed.push_back(done.callees.front().handle);
    if (follows) turns.add(*std::exchange(follows, std::nullopt));
  }
  void journal_failed(const status& why) override {
    failure = why;
    turns.end();
  }
};

using handles = std::vector<std::uint64_t>;

TEST_F(turn_queue_test, performs_a_turn_without_records_at_once) {
  turns.add(turn_to(1));
  EXPECT_EQ(performed, handles{1});
  EXPECT_TRUE(journal.take().empty());
}

TEST_F(turn_queue_test, keeps_the_order_while_the_journal_is_asked) {
  journal.holds = true;
  turns.add(turn_to(1, true));
  turns.add(turn_to(2));
  EXPECT_TRUE(performed.empty());
  EXPECT_TRUE(turns.goes_to(2));
  journal.held({});
  EXPECT_EQ(performed, (handles{1, 2}));
  EXPECT_FALSE(turns.goes_to(2));
}

TEST_F(turn_queue_test, performs_a_turn_that_follows_from_another_after_it) {
  journal.holds = true;
  turns.add(turn_to(1, true));
  turns.add(turn_to(2));
  follows = turn_to(3);
  journal.held({});
  EXPECT_EQ(performed, (handles{1, 2, 3}));
}

TEST_F(turn_queue_test, tells_its_owner_that_the_journal_failed) {
  journal.disk = {errc::io_error, "full"};
  status answer;
  auto next = turn_to(1, true);
  next.reply = [&](const control_reply& reply) { answer = reply.result; };
  turns.add(std::move(next));
  EXPECT_EQ(failure.code(), errc::io_error);
  EXPECT_TRUE(performed.empty());
  turns.refuse_all({errc::unavailable, "ended"});
  EXPECT_EQ(answer.code(), errc::unavailable);
}

TEST_F(turn_queue_test, does_nothing_when_the_journal_answers_after_the_end) {
  journal.holds = true;
  turns.add(turn_to(1, true));
  turns.end();
  turns.refuse_all({errc::unavailable, "ended"});
  journal.held({});
  EXPECT_TRUE(performed.empty());
}

TEST(turn_test, goes_to_the_peers_of_all_its_effects) {
  turn next;
  next.callees.push_back({.handle = 1});
  next.hosts.push_back({.handle = 2});
  next.retiring.push_back({.handle = 3});
  next.idle.push_back({.handle = 4});
  for (const std::uint64_t handle : {1, 2, 3, 4}) EXPECT_TRUE(next.goes_to(handle)) << handle;
  EXPECT_FALSE(next.goes_to(5));
}

}  // namespace
}  // namespace tidegate::actors
