// Versions of a worker's state in memory that outlives its process.
#include "policies/worker/state_versions.hpp"

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/policies/worker/torn_memory.hpp"

namespace tidegate::policies {
namespace {

constexpr std::size_t version_bytes = 64;

// What a version of this clock holds, of other length for each: written by this incarnation.
std::string content(std::uint64_t clock, std::uint64_t incarnation = 0) {
  std::string text = std::to_string(clock) + "/" + std::to_string(incarnation);
  text.resize(16 + 8 * (clock % 5), '.');
  return text;
}

void commit(state_versions& versions, std::uint64_t clock, const std::string& text) {
  versions.begin_write(clock, text.size());
  versions.write(bytes_of(text).first(8));
  versions.write(bytes_of(text).subspan(8));
  versions.end_write();
}

// What a process finds that resumes at this clock.
std::string found_at(runtime::state_memory& memory, std::uint64_t clock,
                     std::uint32_t epoch = 1) {
  state_versions versions(memory, version_bytes);
  switch (versions.resume(epoch, clock)) {
    case state_found::none:
      return "none";
    case state_found::lost:
      return "lost";
    case state_found::whole:
      return text_of(versions.found());
  }
  return "";
}

TEST(state_versions, a_worker_without_state_finds_none_at_any_clock) {
  torn_memory memory(version_bytes);
  EXPECT_EQ(found_at(memory, 0), "none");
  EXPECT_EQ(found_at(memory, 7), "none");
}

TEST(state_versions, a_worker_finds_the_versions_of_the_last_three_clocks) {
  torn_memory memory(version_bytes);
  state_versions versions(memory, version_bytes);
  versions.resume(1, 0);
  for (std::uint64_t clock = 1; clock <= 20; ++clock) {
    commit(versions, clock, content(clock));
    for (std::uint64_t back = 0; back < std::min<std::uint64_t>(3, clock); ++back)
      EXPECT_EQ(found_at(memory, clock - back), content(clock - back));
  }
}

TEST(state_versions, a_worker_that_begins_to_keep_state_later_has_none_before) {
  torn_memory memory(version_bytes);
  state_versions versions(memory, version_bytes);
  versions.resume(1, 0);
  commit(versions, 5, content(5));
  EXPECT_EQ(found_at(memory, 4), "none");
  EXPECT_EQ(found_at(memory, 3), "none");
  EXPECT_EQ(found_at(memory, 5), content(5));
}

// The heart of the promise: a process that is killed after any byte of a commit.
TEST(state_versions, a_commit_that_is_cut_after_any_byte_leaves_what_may_be_needed) {
  for (std::uint64_t clock = 1; clock <= 9; ++clock) {
    torn_memory before(version_bytes);
    state_versions versions(before, version_bytes);
    versions.resume(1, 0);
    for (std::uint64_t past = 1; past < clock; ++past) commit(versions, past, content(past));
    auto whole = before;
    state_versions last(whole, version_bytes);
    last.resume(1, clock - 1);
    whole.written = 0;
    commit(last, clock, content(clock));
    const auto total = whole.written;
    ASSERT_GT(total, content(clock).size());
    for (std::size_t cut = 0; cut <= total; ++cut) {
      auto memory = before;
      memory.lives_for = cut;
      state_versions dying(memory, version_bytes);
      dying.resume(1, clock - 1);
      commit(dying, clock, content(clock));
      memory.lives_for.reset();
      // It resumes at its clock or one before: nothing of this clock has left.
      for (std::uint64_t back = 1; back <= std::min<std::uint64_t>(2, clock); ++back)
        EXPECT_EQ(found_at(memory, clock - back),
                  clock == back ? "none" : content(clock - back))
            << "version " << clock << " cut after " << cut << " bytes";
      if (cut == total) {
        EXPECT_EQ(found_at(memory, clock), content(clock));
      }
    }
  }
}

// A worker at clock c resumes at c - 1. What the process before it has pushed of clocks c - 1
// and c is applied meanwhile, so that the next one resumes at c + 1.
TEST(state_versions, a_successor_keeps_the_later_versions_of_the_process_before_it) {
  constexpr std::uint64_t last = 10;
  torn_memory before(version_bytes);
  state_versions versions(before, version_bytes);
  versions.resume(1, 0);
  for (std::uint64_t clock = 1; clock <= last; ++clock) commit(versions, clock, content(clock));
  torn_memory longest = before;
  state_versions measured(longest, version_bytes);
  measured.resume(1, last - 2);
  longest.written = 0;
  commit(measured, last - 1, content(last - 1, 1));
  commit(measured, last, content(last, 1));
  for (std::size_t cut = 0; cut <= longest.written; ++cut) {
    auto memory = before;
    memory.lives_for = cut;
    state_versions successor(memory, version_bytes);
    successor.resume(1, last - 2);
    commit(successor, last - 1, content(last - 1, 1));
    commit(successor, last, content(last, 1));
    memory.lives_for.reset();
    EXPECT_EQ(found_at(memory, last - 2), content(last - 2));
    for (const auto clock : {last - 1, last}) {
      const auto found = found_at(memory, clock);
      EXPECT_TRUE(found == content(clock) || found == content(clock, 1)) << found;
    }
  }
  EXPECT_EQ(found_at(longest, last), content(last, 1)) << "the newer of two counts";
}

TEST(state_versions, a_job_that_goes_back_finds_the_version_of_its_clock_or_hears_it_is_lost) {
  torn_memory memory(version_bytes);
  state_versions versions(memory, version_bytes);
  versions.resume(1, 0);
  for (std::uint64_t clock = 1; clock <= 10; ++clock) commit(versions, clock, content(clock));
  auto other = memory;
  EXPECT_EQ(found_at(memory, 9, 2), content(9));
  EXPECT_EQ(found_at(memory, 9, 2), content(9)) << "once more, in the same epoch";
  EXPECT_EQ(found_at(memory, 10, 2), "lost") << "that was of the epoch before";
  EXPECT_EQ(found_at(other, 4, 2), "lost");
  EXPECT_EQ(found_at(other, 4, 2), "lost");
  EXPECT_EQ(found_at(other, 9, 2), "lost") << "that was of the epoch before";
  EXPECT_EQ(found_at(other, 0, 3), "none") << "everything begins anew";
}

TEST(state_versions, a_job_that_goes_back_to_before_there_was_state_finds_none) {
  torn_memory memory(version_bytes);
  state_versions versions(memory, version_bytes);
  versions.resume(1, 0);
  commit(versions, 6, content(6));
  EXPECT_EQ(found_at(memory, 3, 2), "none");
  EXPECT_EQ(found_at(memory, 6, 2), "none") << "that was of the epoch before";
}

TEST(state_versions, a_change_of_epoch_may_be_cut_after_any_byte) {
  torn_memory before(version_bytes);
  state_versions versions(before, version_bytes);
  versions.resume(1, 0);
  for (std::uint64_t clock = 1; clock <= 10; ++clock) commit(versions, clock, content(clock));
  for (const std::uint64_t clock : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{9}})
    for (std::size_t cut = 0; cut <= 80; ++cut) {
      auto memory = before;
      memory.lives_for = cut;
      found_at(memory, clock, 2);
      memory.lives_for.reset();
      const auto wanted = clock == 0 ? "none" : clock == 4 ? "lost" : content(9);
      EXPECT_EQ(found_at(memory, clock, 2), wanted) << "cut after " << cut;
      EXPECT_EQ(found_at(memory, 10, 2), clock == 0 ? "none" : "lost");
    }
}

TEST(state_versions, memory_of_a_launcher_that_took_over_says_that_state_is_lost) {
  torn_memory memory(version_bytes, false);
  EXPECT_EQ(found_at(memory, 12, 2), "lost");
  state_versions versions(memory, version_bytes);
  EXPECT_EQ(versions.resume(2, 12), state_found::lost);
  commit(versions, 13, content(13));
  EXPECT_EQ(found_at(memory, 13, 2), content(13));
  EXPECT_EQ(found_at(memory, 12, 2), "lost") << "as before: it would do the same again";
  torn_memory anew(version_bytes, false);
  EXPECT_EQ(found_at(anew, 0, 2), "none") << "at clock 0 nobody has state";
}

TEST(state_versions, a_worker_that_joins_late_has_no_state_yet) {
  torn_memory memory(version_bytes);
  EXPECT_EQ(found_at(memory, 30), "none");
  EXPECT_EQ(found_at(memory, 31), "none");
  EXPECT_EQ(found_at(memory, 20, 2), "lost") << "before it had this memory";
}

TEST(state_versions, a_version_with_a_wrong_byte_is_not_believed) {
  torn_memory memory(version_bytes);
  state_versions versions(memory, version_bytes);
  versions.resume(1, 0);
  commit(versions, 1, content(1));
  for (std::size_t byte = 0; byte < content(1).size(); ++byte) {
    const auto at = state_head_bytes + state_slot_head_bytes + byte;
    memory.flip(at);
    EXPECT_EQ(found_at(memory, 1), "lost");
    memory.flip(at);
  }
  EXPECT_EQ(found_at(memory, 1), content(1));
}

// Any life: commits, kills after any byte, resumes anywhere that shards may name.
TEST(state_versions, any_sequence_of_kills_and_resumes_finds_the_state_of_the_clock) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    runtime::rng random(seed);
    torn_memory memory(version_bytes);
    std::uint64_t settled = 0;  // first clock whose pushes are not all applied
    std::uint64_t sent = 0;     // clocks below have left whole
    for (std::uint64_t incarnation = 0; incarnation < 30; ++incarnation) {
      // What is sent may have been applied meanwhile.
      settled += random.below(sent - settled + 1);
      const auto resumed = settled;
      const auto found = found_at(memory, resumed);
      ASSERT_EQ(found, resumed == 0 ? "none" : content(resumed)) << "seed " << seed;
      state_versions versions(memory, version_bytes);
      versions.resume(1, resumed);
      memory.lives_for = random.below(600);
      for (auto clock = resumed;; ++clock) {
        // Within the window: pushes of the clock before the last are acknowledged.
        if (clock >= 1) settled = std::max(settled, clock - 1);
        commit(versions, clock + 1, content(clock + 1));
        if (*memory.lives_for == 0) break;
        sent = std::max(sent, clock + 1);
        settled += random.below(sent - settled + 1);
      }
      memory.lives_for.reset();
    }
  }
}

}  // namespace
}  // namespace tidegate::policies
