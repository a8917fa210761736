#include "launch/bench/arena.hpp"

#include <fstream>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>

#include "tests/support/temporary.hpp"

namespace tidegate::bench {
namespace {

using runtime::errc;
using testing::HasSubstr;

// Forks one process per rank; true when all of them returned true.
template <class Body>
bool all_of_ranks(std::uint32_t ranks, const std::string& path, Body body) {
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      auto shared = arena::open(path);
      ::_exit(shared && body(*shared, rank) ? 0 : 1);
    }
    children.push_back(pid);
  }
  bool all = true;
  for (const pid_t pid : children) {
    int status = 0;
    all = ::waitpid(pid, &status, 0) == pid && status == 0 && all;
  }
  return all;
}

TEST(arena, the_barrier_keeps_processes_in_step) {
  constexpr std::uint32_t ranks = 5;  // more than a small machine has cores
  constexpr std::uint32_t iterations = 200;
  const tests::temporary_folder folder;
  auto shared = arena::create(folder.path("a"), {ranks, iterations});
  ASSERT_TRUE(shared) << shared.error().message();
  ASSERT_TRUE(all_of_ranks(ranks, folder.path("a"), [](arena& mine, std::uint32_t rank) {
    for (std::uint32_t i = 0; i < iterations; ++i) {
      if (!mine.wait_for_all(i % 2 == 0 ? waiting::patient : waiting::prompt).ok())
        return false;
      const auto begin = now_ns();
      mine.record(rank, i, {begin, now_ns()});
    }
    mine.report(rank, {.cpu_seconds = rank + 0.5, .servers_cpu_seconds = 0, .verified = 7});
    return true;
  }));
  // Nobody begins an iteration before all have begun the one before the last.
  for (std::uint32_t i = 2; i < iterations; ++i)
    for (std::uint32_t a = 0; a < ranks; ++a)
      for (std::uint32_t b = 0; b < ranks; ++b)
        ASSERT_GE(shared->recorded(a, i).begin, shared->recorded(b, i - 2).begin);
  EXPECT_EQ(shared->reported(3).cpu_seconds, 3.5);
  EXPECT_EQ(shared->reported(3).verified, 7U);
}

TEST(arena, a_failure_frees_who_waits_and_the_first_one_counts) {
  const tests::temporary_folder folder;
  auto shared = arena::create(folder.path("a"), {3, 1});
  ASSERT_TRUE(shared);
  EXPECT_TRUE(all_of_ranks(3, folder.path("a"), [](arena& mine, std::uint32_t rank) {
    if (rank == 2) {
      mine.fail("the reason");
      mine.fail("another");
      return true;
    }
    const auto why = mine.wait_for_all(waiting::patient);
    return why.code() == errc::cancelled && why.message() == "the reason";
  }));
  EXPECT_EQ(shared->failure(), "the reason");
}

TEST(arena, who_waits_for_a_rank_that_does_not_come_gives_up) {
  const tests::temporary_folder folder;
  auto shared = arena::create(folder.path("a"), {2, 1});
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->wait_for_all(waiting::patient, 20).code(), errc::timed_out);
  EXPECT_THAT(shared->failure(), HasSubstr("within 20 ms"));
}

TEST(arena, an_exchange_is_from_the_first_begin_to_the_last_end) {
  const tests::temporary_folder folder;
  auto shared = arena::create(folder.path("a"), {3, 2});
  ASSERT_TRUE(shared);
  shared->record(0, 1, {100, 150});
  shared->record(1, 1, {90, 140});
  shared->record(2, 1, {110, 190});
  EXPECT_EQ(shared->exchange_ns(1), 100);
}

TEST(arena, refuses_bad_shapes_and_bad_files) {
  const tests::temporary_folder folder;
  EXPECT_EQ(arena::create(folder.path("a"), {0, 1}).error().code(), errc::invalid_argument);
  EXPECT_EQ(arena::create(folder.path("a"), {ranks_max + 1, 1}).error().code(),
            errc::invalid_argument);
  EXPECT_EQ(arena::create(folder.path("a"), {1, iterations_max + 1}).error().code(),
            errc::invalid_argument);
  EXPECT_EQ(arena::create(folder.path("no/a"), {1, 1}).error().code(), errc::not_found);
  EXPECT_EQ(arena::open(folder.path("a")).error().code(), errc::not_found);
  std::ofstream(folder.path("short")) << "short";
  EXPECT_EQ(arena::open(folder.path("short")).error().code(), errc::corrupt);
  std::ofstream(folder.path("other")) << std::string(100'000, 'x');
  EXPECT_EQ(arena::open(folder.path("other")).error().code(), errc::corrupt);
  ASSERT_TRUE(arena::create(folder.path("a"), {2, 1000}));
  EXPECT_EQ(arena::create(folder.path("a"), {2, 1000}).error().code(), errc::io_error);
  std::filesystem::resize_file(folder.path("a"), 8000);
  EXPECT_EQ(arena::open(folder.path("a")).error().code(), errc::corrupt);
}

}  // namespace
}  // namespace tidegate::bench
