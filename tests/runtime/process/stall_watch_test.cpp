#include "runtime/process/stall_watch.hpp"

#include <chrono>
#include <csignal>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "runtime/base/unix_time.hpp"

namespace tidegate::runtime {
namespace {

// Waits in a child until its watch has seen a stop of `least`, and reports the sum.
[[noreturn]] void watch_in_child(int ready, int report) {
  const auto watch = stall_watch::of_process();
  const char there = 1;
  if (::write(ready, &there, 1) != 1) ::_exit(1);
  while (watch->stopped_ns() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto stopped = watch->stopped_ns();
  ::_exit(::write(report, &stopped, sizeof stopped) == sizeof stopped ? 0 : 1);
}

bool is_stopped(pid_t child) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(child), &info, WSTOPPED | WNOWAIT) == 0;
}

TEST(stall_watch, sees_that_a_process_was_stopped) {
  int ready[2];
  int report[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(report), 0);
  const auto child = ::fork();
  if (child == 0) watch_in_child(ready[1], report[1]);
  char there = 0;
  ASSERT_EQ(::read(ready[0], &there, 1), 1);
  // A stop before the first look of its thread is not seen: then the next one is.
  pollfd reported{.fd = report[0], .events = POLLIN};
  std::int64_t stopped_for = 0;
  while (::poll(&reported, 1, 300) == 0) {
    ASSERT_EQ(::kill(child, SIGSTOP), 0);
    ASSERT_TRUE(is_stopped(child));
    const auto begin = steady_now();
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    stopped_for = steady_now() - begin;
    ASSERT_EQ(::kill(child, SIGCONT), 0);
  }
  std::uint64_t seen = 0;
  ASSERT_EQ(::read(report[0], &seen, sizeof seen), static_cast<ssize_t>(sizeof seen));
  // Some of it may have been spent without a processor.
  EXPECT_GE(static_cast<std::int64_t>(seen), stopped_for / 2);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  for (const auto fd : {ready[0], ready[1], report[0], report[1]}) ::close(fd);
}

TEST(stall_watch, is_shared_in_a_process_and_made_anew_in_a_fork) {
  const auto here = stall_watch::of_process();
  EXPECT_EQ(here, stall_watch::of_process());
  const auto child = ::fork();
  if (child == 0) ::_exit(stall_watch::of_process() == here ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// The parent's thread has waited for as long as it likes: a child begins with nothing.
TEST(stall_watch, a_forked_child_reads_its_own_count) {
  ASSERT_TRUE(starved_ns_of_thread().has_value());
  const auto child = ::fork();
  if (child == 0) {
    const auto inherited = starved_ns_of_thread();
    std::uint64_t own = 0;
    std::thread([&own] { own = starved_ns_of_thread().value_or(0); }).join();
    // The main thread of a child is a thread that has just begun, as the other is.
    constexpr std::uint64_t young_ns = 2'000'000'000;
    ::_exit(inherited && *inherited < young_ns && own < young_ns ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(stall_watch, what_the_kernel_counts_does_not_go_back) {
  const auto starved = starved_ns_of_thread();
  const auto stalls = memory_stalls_ns_of_host();
  EXPECT_GE(memory_stalls_ns_of_host(), stalls);
  const auto faults = disk_faults_of_process();
  ASSERT_TRUE(starved.has_value());
  std::thread([] { EXPECT_TRUE(starved_ns_of_thread().has_value()); }).join();
  EXPECT_GE(starved_ns_of_thread(), starved);
  EXPECT_GE(disk_faults_of_process(), faults);
}

TEST(memory_pressure, is_read_of_the_kernels_text) {
  EXPECT_EQ(pressure_ns_in("some avg10=0.12 avg60=0.00 avg300=0.00 total=1234\n"
                           "full avg10=0.00 avg60=0.00 avg300=0.00 total=99\n"),
            1'234'000U);
  EXPECT_EQ(pressure_ns_in("some avg10=0.00 total="), 0U);
  EXPECT_EQ(pressure_ns_in("full total=99\nsome total=1"), 0U) << "the order is the kernel's";
  EXPECT_EQ(pressure_ns_in(""), 0U);
}

}  // namespace
}  // namespace tidegate::runtime
