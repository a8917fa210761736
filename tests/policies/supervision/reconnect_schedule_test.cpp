#include "policies/supervision/reconnect_schedule.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

using schedule = reconnect_schedule<int>;

constexpr std::int64_t ms = millisecond;

// The attempts that are made at `now`, each beginning a connection unless `refused`.
std::vector<std::uint64_t> attempts(schedule& of, std::int64_t now, bool refused = false) {
  std::vector<std::uint64_t> numbers;
  of.attempt_due(now, [&](int, std::uint64_t number) {
    numbers.push_back(number);
    return !refused;
  });
  return numbers;
}

TEST(reconnect_schedule, the_first_attempt_follows_soon_and_an_answer_ends_the_series) {
  schedule peers;
  EXPECT_TRUE(peers.empty());
  peers.broke(7, 100 * ms);
  const auto numbers = attempts(peers, 110 * ms);
  ASSERT_EQ(numbers.size(), 1u);
  EXPECT_EQ(peers.attempt_of(7), numbers[0]);
  EXPECT_TRUE(peers.answered(7, numbers[0]));
  EXPECT_TRUE(peers.empty());
  EXPECT_TRUE(attempts(peers, 10'000 * ms).empty());
}

TEST(reconnect_schedule, pauses_grow_and_are_bounded) {
  schedule peers;
  peers.broke(7, 0);
  std::vector<std::int64_t> made_at;
  for (std::int64_t now = 0; now < 20'000 * ms; now += ms)
    if (!attempts(peers, now).empty()) {
      made_at.push_back(now);
      peers.broke(7, now);
    }
  ASSERT_GT(made_at.size(), 8u);
  for (std::size_t i = 1; i < made_at.size(); ++i)
    EXPECT_LE(made_at[i] - made_at[i - 1], 1000 * ms);
  EXPECT_LE(made_at[1] - made_at[0], 20 * ms) << "soon at first";
  EXPECT_GE(made_at.back() - made_at[made_at.size() - 2], 900 * ms) << "seldom later";
}

// A network that drops everything reports nothing.
TEST(reconnect_schedule, an_attempt_that_nobody_answers_is_made_again) {
  schedule peers;
  peers.broke(7, 0);
  const auto first = attempts(peers, 10 * ms);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_TRUE(attempts(peers, 1009 * ms).empty());
  const auto second = attempts(peers, 1010 * ms);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_GT(second[0], first[0]);
}

TEST(reconnect_schedule, the_late_answer_to_an_earlier_attempt_ends_nothing) {
  schedule peers;
  peers.broke(7, 0);
  const auto first = attempts(peers, 10 * ms);
  ASSERT_EQ(first.size(), 1u);
  peers.broke(7, 20 * ms);
  EXPECT_FALSE(peers.answered(7, first[0]));
  EXPECT_TRUE(peers.is_broken(7));
  const auto second = attempts(peers, 1000 * ms);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_FALSE(peers.answered(7, first[0]));
  EXPECT_FALSE(peers.answered(7, 0));
  EXPECT_TRUE(peers.answered(7, second[0]));
}

TEST(reconnect_schedule, an_attempt_that_could_not_begin_is_a_failed_one) {
  schedule peers;
  peers.broke(7, 0);
  EXPECT_EQ(attempts(peers, 10 * ms, true).size(), 1u);
  EXPECT_EQ(peers.attempt_of(7), 0u);
  EXPECT_TRUE(peers.is_broken(7));
  EXPECT_EQ(attempts(peers, 100 * ms).size(), 1u);
}

TEST(reconnect_schedule, an_outage_lasts_from_the_first_break) {
  schedule peers;
  peers.broke(7, 1000 * ms);
  attempts(peers, 1010 * ms);
  peers.broke(7, 1020 * ms);
  EXPECT_TRUE(peers.outages(10'999 * ms, 10'000 * ms).empty());
  const auto found = peers.outages(11'000 * ms, 10'000 * ms);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].key, 7);
  EXPECT_EQ(found[0].since_ns, 1000 * ms);
}

TEST(reconnect_schedule, a_doubted_connection_is_attempted_at_once_and_out_since_then) {
  schedule peers;
  peers.doubt(7);
  EXPECT_TRUE(peers.outages(50'000 * ms, 0).empty());
  EXPECT_EQ(attempts(peers, 40'000 * ms).size(), 1u);
  EXPECT_TRUE(peers.outages(49'000 * ms, 10'000 * ms).empty());
  EXPECT_EQ(peers.outages(50'000 * ms, 10'000 * ms).size(), 1u);
}

// Both ends attempt at the same time, and each asks twice: one answer is lost, or is late.
TEST(reconnect_schedule, a_first_connection_that_is_not_answered_is_made_again) {
  schedule peers;
  const auto first = peers.begun(7, 0);
  EXPECT_EQ(peers.attempt_of(7), first);
  EXPECT_TRUE(peers.lost_nothing(7));
  EXPECT_TRUE(attempts(peers, 999 * ms).empty());
  EXPECT_EQ(attempts(peers, 1000 * ms).size(), 1u);
  EXPECT_FALSE(peers.lost_nothing(7));
  EXPECT_FALSE(peers.answered(7, first)) << "over a connection that is closed";
  EXPECT_EQ(peers.outages(2000 * ms, 2000 * ms).size(), 1u);
}

TEST(reconnect_schedule, a_first_connection_that_breaks_or_whose_peer_asks_may_have_lost) {
  schedule peers;
  peers.begun(7, 0);
  peers.broke(7, 10 * ms);
  EXPECT_FALSE(peers.lost_nothing(7));
  peers.begun(8, 0);
  peers.lost_something(8);
  EXPECT_FALSE(peers.lost_nothing(8));
  EXPECT_FALSE(peers.lost_nothing(9)) << "no attempt is under way";
}

TEST(reconnect_schedule, a_connection_that_works_again_is_found_within_a_quarter) {
  schedule peers(reconnect_limits::within(20'000 * ms));
  peers.broke(7, 0);
  std::int64_t before = 0;
  for (std::int64_t now = 0; now < 60'000 * ms; now += ms)
    if (!attempts(peers, now).empty()) {
      EXPECT_LE(now - before, 6000 * ms);
      before = now;
    }
  EXPECT_GT(before, 50'000 * ms);
}

TEST(reconnect_schedule, what_a_peer_asks_twice_for_is_given_once) {
  schedule peers;
  EXPECT_TRUE(peers.is_unserved(7, 1));
  EXPECT_FALSE(peers.is_unserved(7, 1));
  EXPECT_TRUE(peers.is_unserved(8, 1)) << "another peer";
  EXPECT_TRUE(peers.is_unserved(7, 2)) << "it lost its connection once more";
  EXPECT_TRUE(peers.is_unserved(7, 0));
  EXPECT_TRUE(peers.is_unserved(7, 0)) << "each is a payload that was cut off";
  peers.forget(7);
  EXPECT_TRUE(peers.is_unserved(7, 2)) << "of another process there";
}

TEST(reconnect_schedule, who_gives_up_forgets_the_peer) {
  schedule peers({.give_up_ns = 5000 * ms});
  peers.broke(7, 0);
  attempts(peers, 4999 * ms);
  EXPECT_TRUE(peers.is_broken(7));
  EXPECT_TRUE(attempts(peers, 20'000 * ms).empty());
  EXPECT_TRUE(peers.empty());
}

}  // namespace
}  // namespace tidegate::policies
