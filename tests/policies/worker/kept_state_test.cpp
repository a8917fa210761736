// What a worker keeps: names, limits, and when it may change.
#include "policies/worker/kept_state.hpp"

#include <gtest/gtest.h>

#include "tests/policies/worker/torn_memory.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;

constexpr std::size_t version_bytes = 256;

class kept_state_test : public testing::Test {
 protected:
  kept_state resumed_at(std::uint64_t clock, std::uint32_t epoch = 1) {
    kept_state kept(memory, version_bytes);
    kept.resume(epoch, clock);
    return kept;
  }
  static std::string text(const kept_state& kept, std::string_view name) {
    const auto bytes = kept.kept(name);
    return bytes ? text_of(*bytes) : "nothing";
  }
  static void expect(const runtime::status& got, errc code, const std::string& part) {
    EXPECT_EQ(got.code(), code) << got.to_string();
    EXPECT_NE(got.message().find(part), std::string::npos) << got.message();
  }

  torn_memory memory{version_bytes};
};

TEST_F(kept_state_test, a_successor_finds_all_that_was_kept_at_its_clock) {
  auto kept = resumed_at(0);
  EXPECT_FALSE(kept.is_used());
  ASSERT_TRUE(kept.keep("cursor", bytes_of("17"), 0).ok());
  ASSERT_TRUE(kept.keep("rng", bytes_of("twelve bytes"), 0).ok());
  ASSERT_TRUE(kept.keep("", bytes_of("x"), 0).code() == errc::invalid_argument);
  kept.commit(1);
  ASSERT_TRUE(kept.keep("cursor", bytes_of("a longer one"), 1).ok());
  ASSERT_TRUE(kept.forget("rng", 1).ok());
  ASSERT_TRUE(kept.keep("empty", {}, 1).ok());
  EXPECT_EQ(text(kept, "cursor"), "a longer one") << "own changes are seen at once";
  kept.commit(2);
  const auto first = resumed_at(1);
  EXPECT_EQ(text(first, "cursor"), "17");
  EXPECT_EQ(text(first, "rng"), "twelve bytes");
  EXPECT_EQ(text(first, "empty"), "nothing");
  const auto second = resumed_at(2);
  EXPECT_TRUE(second.is_used());
  EXPECT_EQ(text(second, "cursor"), "a longer one") << "what is not set again stays";
  EXPECT_EQ(text(second, "rng"), "nothing");
  EXPECT_EQ(text(second, "empty"), "");
  EXPECT_EQ(second.names(), (std::vector<std::string_view>{"cursor", "empty"}));
}

TEST_F(kept_state_test, what_is_kept_after_the_commit_of_a_clock_is_refused) {
  auto kept = resumed_at(0);
  ASSERT_TRUE(kept.keep("a", bytes_of("1"), 0).ok());
  kept.commit(1);  // the last push of clock 0 was waited for
  expect(kept.keep("a", bytes_of("2"), 0), errc::out_of_order, "clock 0 has left");
  expect(kept.forget("a", 0), errc::out_of_order, "is committed");
  expect(kept.clear(0), errc::out_of_order, "is committed");
  EXPECT_EQ(text(kept, "a"), "1");
  EXPECT_TRUE(kept.keep("a", bytes_of("2"), 1).ok()) << "in the next clock";
}

TEST_F(kept_state_test, more_than_the_job_allows_is_refused_and_nothing_is_lost) {
  auto kept = resumed_at(0);
  ASSERT_TRUE(kept.keep("a", bytes_of("small"), 0).ok());
  const std::string large(version_bytes, 'x');
  expect(kept.keep("b", bytes_of(large), 0), errc::over_limit, "jobs.*.state.max allows 256");
  expect(kept.keep("a", bytes_of(large), 0), errc::over_limit, "'a' has 256 bytes");
  EXPECT_EQ(text(kept, "a"), "small");
  kept.commit(1);
  EXPECT_EQ(text(resumed_at(1), "a"), "small");
  // 8 for the number of entries, 16 and 8 for each name.
  const std::string most(version_bytes - 8 - 24, 'x');
  EXPECT_TRUE(kept.keep("a", bytes_of(most), 1).ok());
  expect(kept.keep("b", {}, 1), errc::over_limit, "would take 280");
  kept.commit(2);
  EXPECT_EQ(text(resumed_at(2), "a"), most);
}

TEST_F(kept_state_test, a_machine_without_memory_is_told_when_something_is_kept) {
  auto kept = resumed_at(0);
  ASSERT_TRUE(kept.keep("a", bytes_of("1"), 0).ok());
  memory.has_room = false;
  EXPECT_TRUE(kept.keep("a", bytes_of("2"), 0).ok()) << "there is room for that already";
  EXPECT_EQ(kept.keep("b", bytes_of("3"), 0).code(), errc::no_space);
  EXPECT_EQ(text(kept, "b"), "nothing");
}

TEST_F(kept_state_test, a_worker_without_memory_is_told_why) {
  kept_state kept({errc::unavailable, "no memory for state"});
  kept.resume(1, 3);
  expect(kept.keep("a", bytes_of("1"), 3), errc::unavailable, "no memory for state");
  EXPECT_EQ(kept.clear(3).code(), errc::unavailable);
  EXPECT_FALSE(kept.is_used());
  EXPECT_FALSE(kept.is_lost());
}

TEST_F(kept_state_test, a_lost_state_is_told_until_the_program_begins_with_none) {
  auto kept = resumed_at(0);
  for (std::uint64_t clock = 0; clock < 10; ++clock) {
    ASSERT_TRUE(kept.keep("a", bytes_of(std::to_string(clock + 1)), clock).ok());
    kept.commit(clock + 1);
  }
  auto lost = resumed_at(4, 2);
  EXPECT_TRUE(lost.is_lost());
  EXPECT_FALSE(lost.is_used());
  expect(lost.keep("a", bytes_of("1"), 4), errc::unavailable, "at clock 4 is lost");
  EXPECT_EQ(text(lost, "a"), "nothing") << "never the state of another clock";
  ASSERT_TRUE(lost.clear(4).ok());
  EXPECT_TRUE(lost.usable().ok());
  ASSERT_TRUE(lost.keep("a", bytes_of("anew"), 4).ok());
  lost.commit(5);
  EXPECT_EQ(text(resumed_at(5, 2), "a"), "anew");
}

TEST_F(kept_state_test, a_worker_that_keeps_nothing_commits_nothing) {
  auto kept = resumed_at(0);
  memory.written = 0;
  kept.commit(1);
  EXPECT_EQ(memory.written, 0u);
  EXPECT_FALSE(resumed_at(1).is_lost());
}

}  // namespace
}  // namespace tidegate::policies
