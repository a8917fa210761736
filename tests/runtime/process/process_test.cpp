#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/process/process_mark.hpp"
#include "runtime/process/process_stat.hpp"

namespace tidegate::runtime {
namespace {

constexpr int within_ms = 20'000;

// One that waits for ever.
pid_t start_one() {
  const auto pid = ::fork();
  if (pid == 0)
    for (;;) ::pause();
  return pid;
}
int end_of(pid_t pid) {
  int mode = 0;
  EXPECT_EQ(::waitpid(pid, &mode, 0), pid);
  return mode;
}

TEST(parse_stat, a_name_may_have_brackets_and_blanks) {
  const auto stat = parse_stat(
      "4711 (a) b (c) T 1 4700 4700 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 5 0 987654 1000 20");
  ASSERT_TRUE(stat) << stat.error().message();
  EXPECT_EQ(stat->state, 'T');
  EXPECT_EQ(stat->group, 4700);
  EXPECT_EQ(stat->started, 987654U);
  EXPECT_FALSE(parse_stat("4711 (a) T 1 4700"));
  EXPECT_FALSE(parse_stat(""));
}

TEST(process_mark, one_that_is_stopped_is_ended) {
  const auto pid = start_one();
  ASSERT_GT(pid, 0);
  const auto stat = stat_of(pid);
  ASSERT_TRUE(stat) << stat.error().message();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  const auto ended = end_process({pid, stat->started}, within_ms);
  EXPECT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_TRUE(is_over(*stat_of(pid))) << "nobody has waited for it";
  EXPECT_TRUE(end_process({pid, stat->started}, within_ms).ok()) << "it is over already";
  EXPECT_EQ(WTERMSIG(end_of(pid)), SIGKILL);
  EXPECT_TRUE(end_process({pid, stat->started}, within_ms).ok()) << "it is gone";
  EXPECT_FALSE(stat_of(pid));
}

TEST(process_mark, a_pid_that_another_process_has_is_left_alone) {
  const auto pid = start_one();
  ASSERT_GT(pid, 0);
  EXPECT_TRUE(end_process({pid, stat_of(pid)->started - 1}, within_ms).ok());
  EXPECT_EQ(::kill(pid, SIGTERM), 0);
  EXPECT_EQ(WTERMSIG(end_of(pid)), SIGTERM);
}

TEST(process_mark, this_process_is_left_alone) {
  EXPECT_EQ(own_mark().pid, ::getpid());
  EXPECT_GT(own_mark().started, 0U);
  EXPECT_TRUE(end_process(own_mark(), within_ms).ok());
  EXPECT_TRUE(end_process({1, 0}, within_ms).ok());
}

TEST(descendants, are_those_of_children_too) {
  const pid_t shell = ::fork();
  if (shell == 0) {
    ::execl("/bin/sh", "sh", "-c", "sleep 1000 & sleep 1000 & wait", nullptr);
    ::_exit(1);
  }
  std::vector<process_mark> found;
  for (int i = 0; found.size() < 2 && i < 10'000; ++i) {
    ::usleep(1000);
    found = descendants_of(shell);
  }
  ASSERT_EQ(found.size(), 2U);
  const auto of_parent = descendants_of(::getpid());
  for (const auto& mark : found) {
    EXPECT_NE(std::find(of_parent.begin(), of_parent.end(), mark), of_parent.end());
    EXPECT_TRUE(end_process(mark, 10'000).ok());
  }
  ::waitpid(shell, nullptr, 0);
  EXPECT_TRUE(descendants_of(shell).empty());
}

TEST(resident_bytes, grow_with_what_a_process_touches) {
  constexpr std::size_t bytes = std::size_t{64} << 20U;
  const auto before = resident_bytes_of_process();
  const std::vector<char> touched(bytes, 'x');
  EXPECT_GE(resident_bytes_of_process(), before + bytes / 2);
  EXPECT_EQ(touched.back(), 'x');
}

}  // namespace
}  // namespace tidegate::runtime
