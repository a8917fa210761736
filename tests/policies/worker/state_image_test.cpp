// A worker's state that goes to another host: images of its memory, and memory of images.
#include <gtest/gtest.h>

#include "policies/launcher/state_mirror.hpp"
#include "policies/worker/kept_state.hpp"
#include "tests/policies/worker/torn_memory.hpp"

namespace tidegate::policies {
namespace {

constexpr std::size_t kept_bytes = 256;

// A worker on a host, whose state is copied where the test says so.
class host_of_worker {
 public:
  host_of_worker(std::uint64_t clock, std::uint32_t epoch,
                 const state_image& image = {.has_history = true})
      : memory_(kept_bytes, false) {
    EXPECT_TRUE(state_versions(memory_, kept_bytes).restore(image).ok());
    begin(clock, epoch);
  }

  void begin(std::uint64_t clock, std::uint32_t epoch) {
    kept_.emplace(memory_, kept_bytes);
    kept_->resume(epoch, clock);
  }
  void commit(std::uint64_t version) {
    EXPECT_TRUE(kept_->keep("cursor", bytes_of(std::to_string(version)), version - 1).ok());
    kept_->commit(version);
  }
  void copy(std::uint64_t version, state_mirror& into) {
    into.take(state_versions(memory_, kept_bytes).image(version));
  }
  std::string found() const {
    if (kept_->is_lost()) return "lost";
    const auto bytes = kept_->kept("cursor");
    return bytes ? text_of(*bytes) : "none";
  }
  kept_state& kept() { return *kept_; }

 private:
  torn_memory memory_;
  std::optional<kept_state> kept_;
};

// All versions up to this one.
void commit_and_copy(host_of_worker& of, std::uint64_t last, state_mirror& into) {
  for (std::uint64_t clock = 1; clock <= last; ++clock) {
    of.commit(clock);
    of.copy(clock, into);
  }
}

TEST(state_image, another_host_has_every_version_that_a_successor_may_need) {
  state_mirror mirror;
  host_of_worker first(0, 1);
  first.copy(0, mirror);
  for (std::uint64_t clock = 1; clock <= 9; ++clock) {
    first.commit(clock);
    first.copy(clock, mirror);
    for (std::uint64_t back = 0; back < std::min<std::uint64_t>(4, clock); ++back)
      EXPECT_EQ(host_of_worker(clock - back, 1, mirror.image()).found(),
                std::to_string(clock - back));
  }
  EXPECT_EQ(mirror.image().versions.size(), state_slots);
  EXPECT_EQ(mirror.newest_clock(), 9U);
}

TEST(state_image, a_worker_that_has_kept_nothing_is_known_to_have_none) {
  state_mirror mirror;
  host_of_worker first(0, 1);
  first.copy(0, mirror);
  EXPECT_EQ(host_of_worker(5, 1, mirror.image()).found(), "none");
}

TEST(state_image, a_version_that_was_not_copied_is_lost_and_the_one_before_is_there) {
  state_mirror mirror;
  host_of_worker first(0, 1);
  for (std::uint64_t clock = 1; clock <= 14; ++clock) {
    first.commit(clock);
    if (clock == 1 || clock % 5 == 0) first.copy(clock, mirror);
  }
  EXPECT_EQ(host_of_worker(10, 1, mirror.image()).found(), "10");
  host_of_worker second(14, 1, mirror.image());
  EXPECT_EQ(second.found(), "lost");
  EXPECT_EQ(second.kept().usable().code(), runtime::errc::unavailable);
  EXPECT_NE(second.kept().usable().message().find("at clock 14 is lost with its host; that of "
                                                  "clock 10 was copied before"),
            std::string::npos)
      << second.kept().usable().message();
  ASSERT_EQ(second.kept().older_clock(), 10U);
  ASSERT_TRUE(second.kept().use_older(14).ok());
  EXPECT_EQ(second.found(), "10");
  EXPECT_FALSE(second.kept().older_clock());
  EXPECT_EQ(second.kept().use_older(14).code(), runtime::errc::not_found);
  second.commit(15);
  second.begin(15, 1);
  EXPECT_EQ(second.found(), "15");
}

TEST(state_image, what_is_written_anew_takes_the_place_of_the_copy_of_its_clock) {
  state_mirror mirror;
  host_of_worker first(0, 1);
  commit_and_copy(first, 6, mirror);
  host_of_worker second(5, 1, mirror.image());
  EXPECT_TRUE(second.kept().keep("cursor", bytes_of("anew"), 5).ok());
  second.kept().commit(6);
  second.copy(6, mirror);
  EXPECT_EQ(host_of_worker(6, 1, mirror.image()).found(), "anew");
  EXPECT_EQ(host_of_worker(5, 1, mirror.image()).found(), "5");
}

// It joined its job, say, and its host was lost before anything was copied.
TEST(state_image, a_worker_that_begins_anew_is_known_to_have_none) {
  state_mirror mirror;
  mirror.begin_anew();
  EXPECT_EQ(host_of_worker(7, 3, mirror.image()).found(), "none");
  EXPECT_EQ(host_of_worker(7, 3, state_image{}).found(), "lost");
}

TEST(state_image, of_larger_memory_is_refused) {
  torn_memory memory(kept_bytes);
  state_image image{.epoch = 1};
  image.versions.push_back({.number = 1, .clock = 1, .bytes = {}});
  image.versions.back().bytes.resize(kept_bytes + 8);
  EXPECT_EQ(state_versions(memory, kept_bytes).restore(image).code(),
            runtime::errc::over_limit);
  EXPECT_EQ(memory.written, 0U + sizeof(std::uint64_t)) << "but for the history";
}

TEST(state_image, nothing_is_committed_and_copied_before_anything_is_kept) {
  host_of_worker first(0, 1);
  EXPECT_FALSE(first.kept().commit(1));
  first.commit(2);
  EXPECT_TRUE(first.kept().commit(3));
}

// The job comes to those clocks anew.
TEST(state_image, copies_of_an_epoch_that_is_over_are_gone) {
  state_mirror mirror;
  host_of_worker first(0, 1);
  commit_and_copy(first, 6, mirror);
  first.begin(5, 2);
  // The agent looks late: the worker has gone on meanwhile.
  first.commit(6);
  first.copy(5, mirror);
  EXPECT_EQ(host_of_worker(5, 2, mirror.image()).found(), "5");
  EXPECT_EQ(host_of_worker(6, 2, mirror.image()).found(), "lost");
  EXPECT_EQ(host_of_worker(4, 2, mirror.image()).found(), "lost");
}

}  // namespace
}  // namespace tidegate::policies
