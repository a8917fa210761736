#include "policies/checkpoint/rounds.hpp"

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

using effects = checkpoint_effects;
constexpr std::int64_t second = 1'000'000'000;
const std::set<std::uint32_t> two{0, 1};

template <class T>
std::vector<T> all(const effects& out) {
  std::vector<T> found;
  for (const auto& one : out.list)
    if (const auto* what = std::get_if<T>(&one)) found.push_back(*what);
  return found;
}

class checkpoint_rounds_test : public testing::Test {
 protected:
  checkpoint_rounds rounds{checkpoint_spec{.every_clocks = 10, .every_ms = 0, .keep = 3}};
  effects out;

  static checkpoint_report part_of(std::uint32_t shard, std::uint64_t number,
                                   std::uint64_t clock) {
    checkpoint_report report;
    report.id = {1, number};
    report.shard = shard;
    report.clock = clock;
    report.file.name = "s" + std::to_string(shard);
    report.chunks = {{.table = shard, .first = 0, .count = 1}};
    return report;
  }
  void advance(std::uint64_t clock, std::int64_t now = second,
               const std::set<std::uint32_t>& shards = two) {
    if (rounds.advanced(now, clock)) rounds.begin(now, shards, out);
  }
  void begin(std::uint64_t number) {
    ASSERT_EQ(all<effects::begin>(out).size(), 1U);
    out.list.clear();
    rounds.begun({1, number}, out);
  }
  void answer(std::uint64_t number, std::uint64_t missed = nothing_missed) {
    for (const auto shard : two) rounds.answered(shard, {1, number}, {}, missed, out);
  }
};

TEST_F(checkpoint_rounds_test, a_round_names_the_next_multiple_and_ends_with_the_manifest) {
  advance(3);
  begin(7);
  const auto asked = all<effects::ask>(out);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].clock, 10U);
  EXPECT_EQ(asked[1].shard, 1U);
  answer(7);
  rounds.part(part_of(1, 7, 10), out);
  EXPECT_TRUE(all<effects::write>(out).empty());
  rounds.part(part_of(0, 7, 10), out);
  ASSERT_EQ(all<effects::write>(out).size(), 1U);
  EXPECT_EQ(all<effects::write>(out)[0].clock, 10U);
  EXPECT_EQ(all<effects::write>(out)[0].parts.size(), 2U);
  EXPECT_FALSE(rounds.idle());
  rounds.written({1, 7}, {}, out);
  EXPECT_TRUE(rounds.idle());
  ASSERT_EQ(all<effects::ended>(out).size(), 1U);
  EXPECT_TRUE(all<effects::ended>(out)[0].result.ok());
}

TEST_F(checkpoint_rounds_test, a_last_one_does_not_wait_for_a_round_of_a_later_clock) {
  advance(11);
  begin(1);
  answer(1);
  rounds.want_last();
  out.list.clear();
  advance(12);
  EXPECT_EQ(all<effects::ended>(out)[0].result.code(), errc::cancelled);
  begin(2);
  EXPECT_EQ(all<effects::ask>(out)[0].clock, 14U) << "not 20";
  answer(2);
  for (const auto shard : two) rounds.part(part_of(shard, 2, 14), out);
  rounds.written({1, 2}, {}, out);
  EXPECT_TRUE(rounds.has_last());
}

TEST_F(checkpoint_rounds_test, a_last_one_is_of_the_next_clock_that_can_be_named) {
  advance(11);
  begin(1);
  rounds.want_last();
  answer(1);
  for (const auto shard : two) rounds.part(part_of(shard, 1, 20), out);
  rounds.written({1, 1}, {}, out);
  EXPECT_FALSE(rounds.has_last()) << "that one had begun before";
  out.list.clear();
  advance(21);
  begin(2);
  EXPECT_EQ(all<effects::ask>(out)[0].clock, 23U) << "not the next multiple of 10";
  answer(2, 24);
  EXPECT_FALSE(rounds.has_last());
  out.list.clear();
  advance(25);
  begin(3);
  EXPECT_GT(all<effects::ask>(out)[0].clock, 25U);
  answer(3);
  for (const auto shard : two) rounds.part(part_of(shard, 3, 29), out);
  rounds.written({1, 3}, {}, out);
  EXPECT_TRUE(rounds.has_last());
  out.list.clear();
  advance(30);
  EXPECT_EQ(all<effects::begin>(out).size(), 1U) << "and then as ever";
}

TEST_F(checkpoint_rounds_test, each_needs_the_one_before_up_to_one_that_is_full) {
  rounds = checkpoint_rounds(
      checkpoint_spec{.every_clocks = 10, .every_ms = 0, .keep = 3, .full_every = 3});
  std::uint64_t clock = 1;
  // Returns the base that is asked for, and the one that the manifest has.
  const auto take = [&](std::uint64_t number, bool needs_base, bool is_written = true) {
    out.list.clear();
    clock += 20;
    advance(clock);
    begin(number);
    const auto base = all<effects::ask>(out)[0].base;
    answer(number);
    for (const auto shard : two) {
      auto report = part_of(shard, number, clock);
      report.needs_base = needs_base && shard == 1;
      rounds.part(report, out);
    }
    const auto writes = all<effects::write>(out);
    EXPECT_EQ(writes.size(), 1U);
    const auto result =
        is_written ? runtime::status() : runtime::status(runtime::errc::io_error, "full");
    rounds.written({1, number}, result, out);
    return std::pair(base.number, writes[0].base.number);
  };
  EXPECT_EQ(take(1, false), std::pair(0UL, 0UL));
  EXPECT_EQ(take(2, true), std::pair(1UL, 1UL));
  EXPECT_EQ(take(3, true, false), std::pair(2UL, 2UL)) << "and it is not durable";
  EXPECT_EQ(take(4, true), std::pair(2UL, 2UL));
  EXPECT_EQ(take(5, false), std::pair(0UL, 0UL)) << "two have needed others";
  EXPECT_EQ(take(6, false), std::pair(5UL, 0UL)) << "no shard had written the one before";
  EXPECT_EQ(take(7, true), std::pair(6UL, 6UL));
}

TEST_F(checkpoint_rounds_test, no_chain_is_longer_than_one_that_is_read) {
  rounds = checkpoint_rounds(
      checkpoint_spec{.every_clocks = 10, .every_ms = 0, .keep = 3, .full_every = 1000});
  std::uint32_t since_full = 0;
  for (std::uint64_t number = 1; number < 250; ++number) {
    out.list.clear();
    advance(number * 20);
    begin(number);
    since_full = all<effects::ask>(out)[0].base.number == 0 ? 0 : since_full + 1;
    EXPECT_LT(since_full, checkpoint_chain_max);
    answer(number);
    for (const auto shard : two) {
      auto report = part_of(shard, number, number * 20);
      report.needs_base = since_full > 0;
      rounds.part(report, out);
    }
    rounds.written({1, number}, {}, out);
  }
}

TEST_F(checkpoint_rounds_test, one_at_a_time) {
  advance(3);
  begin(7);
  out.list.clear();
  advance(25);
  EXPECT_TRUE(out.list.empty());
}

TEST_F(checkpoint_rounds_test, a_clock_that_has_gone_by_makes_the_next_call_earlier) {
  advance(7);
  begin(1);
  EXPECT_EQ(all<effects::ask>(out)[0].clock, 10U);
  rounds.answered(0, {1, 1}, {}, nothing_missed, out);
  rounds.answered(1, {1, 1}, {}, 17, out);
  EXPECT_TRUE(rounds.idle());
  out.list.clear();
  advance(9);
  begin(2);
  EXPECT_EQ(all<effects::ask>(out)[0].clock, 30U) << "17 and a margin of 4 is beyond 20";
}

TEST_F(checkpoint_rounds_test, a_part_may_come_before_the_last_answer) {
  advance(3);
  begin(7);
  rounds.answered(0, {1, 7}, {}, nothing_missed, out);
  rounds.part(part_of(0, 7, 10), out);
  rounds.part(part_of(1, 7, 10), out);
  EXPECT_TRUE(all<effects::write>(out).empty());
  rounds.answered(1, {1, 7}, {}, nothing_missed, out);
  EXPECT_EQ(all<effects::write>(out).size(), 1U);
}

TEST_F(checkpoint_rounds_test, a_part_that_fails_or_comes_twice_or_late) {
  advance(3);
  begin(7);
  answer(7);
  rounds.part(part_of(0, 7, 10), out);
  rounds.part(part_of(0, 7, 10), out);
  rounds.part(part_of(1, 6, 10), out);
  EXPECT_TRUE(all<effects::write>(out).empty());
  auto failed = part_of(1, 7, 10);
  failed.failure = "disk full";
  rounds.part(failed, out);
  ASSERT_EQ(all<effects::ended>(out).size(), 1U);
  EXPECT_EQ(all<effects::ended>(out)[0].result.message(), "disk full");
  EXPECT_TRUE(rounds.idle()) << "and the next one is tried";
}

TEST_F(checkpoint_rounds_test, by_time) {
  rounds = checkpoint_rounds(checkpoint_spec{.every_clocks = 0, .every_ms = 30'000, .keep = 3});
  advance(5, 0);
  advance(50, 29 * second);
  EXPECT_TRUE(out.list.empty());
  advance(60, 30 * second);
  begin(1);
  EXPECT_EQ(all<effects::ask>(out)[0].clock, 62U);
}

TEST_F(checkpoint_rounds_test, the_end_of_the_job_gives_a_round_up_and_makes_a_last_one) {
  advance(3);
  begin(7);
  out.list.clear();
  rounds.finished(two, out);
  EXPECT_FALSE(all<effects::ended>(out).at(0).final);
  std::erase_if(out.list,
                [](const auto& one) { return std::holds_alternative<effects::ended>(one); });
  begin(8);
  EXPECT_EQ(all<effects::ask>(out)[0].clock, clock_vector::infinity);
  answer(8);
  rounds.part(part_of(0, 8, 12), out);
  rounds.part(part_of(1, 8, 12), out);
  rounds.written({1, 8}, {}, out);
  EXPECT_TRUE(all<effects::ended>(out).back().final);
  out.list.clear();
  advance(100);
  EXPECT_TRUE(out.list.empty()) << "nothing comes after the last";
}

// Given up, it would become durable all the same, and make the one that the final round needs
// look needless.
TEST_F(checkpoint_rounds_test, the_final_one_begins_after_a_manifest_that_is_being_written) {
  advance(3);
  begin(7);
  answer(7);
  rounds.part(part_of(0, 7, 10), out);
  rounds.part(part_of(1, 7, 10), out);
  out.list.clear();
  rounds.finished(two, out);
  EXPECT_TRUE(out.list.empty());
  rounds.written({1, 7}, {}, out);
  rounds.finished(two, out);
  const auto ended = all<effects::ended>(out);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_TRUE(ended[0].result.ok());
  EXPECT_FALSE(ended[0].final);
  begin(8);
  EXPECT_EQ(all<effects::ask>(out)[0].clock, clock_vector::infinity);
}

TEST_F(checkpoint_rounds_test, a_job_without_tables_has_nothing_to_keep) {
  advance(50, second, {});
  EXPECT_TRUE(out.list.empty());
  rounds.finished({}, out);
  EXPECT_TRUE(all<effects::ended>(out).at(0).final);
}

TEST_F(checkpoint_rounds_test, the_last_one_waits_for_shards_that_still_write) {
  rounds.finished(two, out);
  begin(8);
  rounds.answered(0, {1, 8}, {runtime::errc::unavailable, "still writes"}, 0, out);
  rounds.answered(1, {1, 8}, {}, nothing_missed, out);
  out.list.clear();
  EXPECT_FALSE(rounds.part(part_of(0, 7, 10), out)) << "it is of the round before";
  EXPECT_TRUE(out.list.empty()) << "shard 1 writes its part of this round";
  EXPECT_FALSE(rounds.part(part_of(1, 8, 10), out)) << "it is written anew";
  EXPECT_TRUE(all<effects::begin>(out).at(0).final);
  begin(9);
  EXPECT_EQ(all<effects::ask>(out)[0].clock, clock_vector::infinity);
}

TEST_F(checkpoint_rounds_test, a_round_is_overdue_when_the_next_clock_has_come) {
  EXPECT_FALSE(rounds.is_overdue(second)) << "none is under way";
  advance(3);
  begin(1);
  advance(19);
  EXPECT_FALSE(rounds.is_overdue(second));
  advance(20);
  EXPECT_TRUE(rounds.is_overdue(second));
}

TEST(checkpoint_rounds, a_round_by_time_is_overdue_when_the_next_should_have_begun) {
  checkpoint_rounds rounds{checkpoint_spec{.every_clocks = 0, .every_ms = 2000, .keep = 3}};
  effects out;
  EXPECT_FALSE(rounds.advanced(second, 1));
  EXPECT_TRUE(rounds.advanced(3 * second, 2));
  rounds.begin(3 * second, two, out);
  EXPECT_FALSE(rounds.is_overdue(4 * second));
  EXPECT_TRUE(rounds.is_overdue(5 * second));
}

}  // namespace
}  // namespace tidegate::policies
