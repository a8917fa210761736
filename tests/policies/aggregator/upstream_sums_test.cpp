#include "policies/aggregator/upstream_sums.hpp"

#include <optional>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

constexpr retransmit_limits limits{.first_ns = 10, .most_ns = 20, .growth = 2};

// Two chunks, of whose sums each has two parts.
class upstream_sums_test : public testing::Test {
 protected:
  upstream_sums_test() { sums.add_chunks(2, 2); }

  void hand_on(std::uint32_t slot, std::uint64_t clock) {
    sums.begin(slot, clock);
    sums.set_part(slot, clock, 0, {.skips = true});
    sums.set_part(slot, clock, 1, {.single = 9});
  }

  upstream_sums sums;
};

TEST_F(upstream_sums_test, waits_for_nothing_before_a_sum_is_handed_on) {
  EXPECT_FALSE(sums.is_busy());
  EXPECT_EQ(sums.find_missing(0, 0, 0), nullptr);
  EXPECT_FALSE(sums.oldest(0, 0));
  EXPECT_FALSE(sums.acknowledge(0, 0, 0, reply_code::ok));
}

TEST_F(upstream_sums_test, ends_a_sum_with_its_last_part_and_the_first_refusal) {
  hand_on(1, 5);
  EXPECT_TRUE(sums.is_busy());
  EXPECT_FALSE(sums.acknowledge(1, 5, 1, reply_code::too_late));
  EXPECT_FALSE(sums.acknowledge(1, 5, 1, reply_code::ok)) << "a duplicate";
  EXPECT_EQ(sums.acknowledge(1, 5, 0, reply_code::job_ended), reply_code::too_late);
  EXPECT_FALSE(sums.is_busy());
  EXPECT_FALSE(sums.acknowledge(1, 5, 0, reply_code::ok));
}

TEST_F(upstream_sums_test, takes_no_answer_to_a_clock_that_had_the_place_before) {
  hand_on(0, 1 + upstream_sums::window);
  EXPECT_FALSE(sums.acknowledge(0, 1, 0, reply_code::ok));
  EXPECT_NE(sums.find_missing(0, 1 + upstream_sums::window, 0), nullptr);
}

TEST_F(upstream_sums_test, keeps_the_content_of_missing_parts) {
  hand_on(0, 3);
  ASSERT_NE(sums.find_missing(0, 3, 1), nullptr);
  EXPECT_EQ(sums.find_missing(0, 3, 1)->single, 9U);
  EXPECT_TRUE(sums.find_missing(0, 3, 0)->skips);
  sums.acknowledge(0, 3, 1, reply_code::ok);
  EXPECT_EQ(sums.find_missing(0, 3, 1), nullptr);
  sums.add_chunks(3, 2);
  EXPECT_NE(sums.find_missing(0, 3, 0), nullptr) << "another table changes nothing";
}

TEST_F(upstream_sums_test, tells_sums_from_the_oldest_on) {
  hand_on(0, 1);
  hand_on(0, 2);
  hand_on(1, 0);
  EXPECT_EQ(sums.oldest(0, 0), 1U);
  EXPECT_EQ(sums.oldest(0, 2), 2U);
  EXPECT_FALSE(sums.oldest(0, 3));
}

TEST_F(upstream_sums_test, sends_a_sum_again_in_time_until_it_is_acknowledged) {
  const std::size_t place = 1;
  hand_on(0, 1);
  EXPECT_FALSE(sums.take_due(0, place, 100, limits)) << "the first look starts its time";
  EXPECT_FALSE(sums.take_due(0, place, 109, limits));
  EXPECT_EQ(sums.take_due(0, place, 110, limits), 1U);
  EXPECT_FALSE(sums.take_due(0, place, 120, limits)) << "it waits for twice as long";
  sums.acknowledge(0, 1, 0, reply_code::ok);
  sums.acknowledge(0, 1, 1, reply_code::ok);
  EXPECT_FALSE(sums.take_due(0, place, 1'000, limits));
}

}  // namespace
}  // namespace tidegate::policies
