// Threads beside a program's own: which signals they take, how often they do their turn, and
// when they end.
#include "runtime/base/service_thread.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <signal.h>

#include <gtest/gtest.h>

#include "runtime/base/periodic_thread.hpp"

namespace tidegate::runtime {
namespace {

constexpr auto limit = std::chrono::seconds(30);

sigset_t mask_of_this_thread() {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

TEST(service_thread, takes_no_signal_and_leaves_the_starting_thread_as_it_was) {
  sigset_t only_usr1;
  ::sigemptyset(&only_usr1);
  ::sigaddset(&only_usr1, SIGUSR1);
  ::pthread_sigmask(SIG_SETMASK, &only_usr1, nullptr);
  sigset_t inside{};
  auto thread = start_service_thread([&] { inside = mask_of_this_thread(); });
  thread.join();
  const auto outside = mask_of_this_thread();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD, SIGHUP, SIGALRM}) {
    EXPECT_EQ(::sigismember(&inside, signal), 1) << signal;
    EXPECT_EQ(::sigismember(&outside, signal), signal == SIGUSR1) << signal;
  }
}

// Turns that a test can wait for.
class turn_counter {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++turns_;
    changed_.notify_all();
  }
  bool reaches(int turns) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, [&] { return turns_ >= turns; });
  }
  int turns() {
    const std::lock_guard lock(mutex_);
    return turns_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int turns_ = 0;
};

TEST(periodic_thread, takes_turn_after_turn) {
  turn_counter counter;
  const periodic_thread thread(std::chrono::milliseconds(1), [&] { counter.add(); });
  EXPECT_TRUE(counter.reaches(4));
}

TEST(periodic_thread, begins_at_once_and_its_end_waits_for_no_pause) {
  turn_counter counter;
  periodic_thread thread(std::chrono::hours(24), [&] { counter.add(); });
  EXPECT_TRUE(counter.reaches(1));
  thread.end();
  EXPECT_EQ(counter.turns(), 1);
  thread.end();
  EXPECT_EQ(counter.turns(), 1) << "a second end";
}

TEST(periodic_thread, its_end_waits_for_the_turn_under_way) {
  turn_counter begun;
  turn_counter released;
  turn_counter finished;
  periodic_thread thread(std::chrono::hours(24), [&] {
    begun.add();
    EXPECT_TRUE(released.reaches(1));
    finished.add();
  });
  ASSERT_TRUE(begun.reaches(1));
  auto helper = start_service_thread([&] { released.add(); });
  thread.end();
  EXPECT_EQ(finished.turns(), 1);
  helper.join();
}

TEST(periodic_thread, takes_no_signal) {
  turn_counter counter;
  sigset_t inside{};
  periodic_thread thread(std::chrono::hours(24), [&] {
    inside = mask_of_this_thread();
    counter.add();
  });
  ASSERT_TRUE(counter.reaches(1));
  EXPECT_EQ(::sigismember(&inside, SIGTERM), 1);
}

}  // namespace
}  // namespace tidegate::runtime
