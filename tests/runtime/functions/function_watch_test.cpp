// A function that crashes or never returns ends its process, which says which one that was.
#include "runtime/functions/function_watch.hpp"

#include <csignal>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

using namespace std::chrono_literals;

void watch_one_that_crashes(int signal) {
  if (!begin_to_watch(10s).ok()) ::_exit(1);
  const function_watch watch("faulty", "libmine.so");
  ::raise(signal);
}

TEST(function_watch, names_what_crashes) {
  for (const int signal : {SIGSEGV, SIGFPE, SIGABRT})
    EXPECT_EXIT(watch_one_that_crashes(signal), testing::KilledBySignal(signal),
                "function 'faulty' of plugin libmine.so crashed: SIG");
}

// On whichever thread the signal comes.
void watch_one_that_never_returns() {
  if (!begin_to_watch(20ms).ok()) ::_exit(1);
  std::thread other([] {
    const function_watch watch("endless", "libmine.so");
    for (;;) ::pause();
  });
  other.join();
}

TEST(function_watch, ends_what_does_not_return) {
  EXPECT_EXIT(watch_one_that_never_returns(), testing::ExitedWithCode(exit_overdue),
              "function 'endless' of a plugin did not return in time");
}

void watch_some_that_return() {
  if (!begin_to_watch(20ms).ok()) ::_exit(1);
  for (int i = 0; i < 100; ++i) const function_watch watch("quick", "libmine.so");
  std::this_thread::sleep_for(60ms);  // longer than any timer that was left
  ::_exit(0);
}

TEST(function_watch, leaves_alone_what_has_returned) {
  EXPECT_EXIT(watch_some_that_return(), testing::ExitedWithCode(0), "");
}

// A crash beside any function is a crash as ever.
TEST(function_watch, says_nothing_of_other_crashes) {
  EXPECT_EXIT(
      {
        if (!begin_to_watch(10s).ok()) ::_exit(1);
        { const function_watch watch("ended", "libmine.so"); }
        ::raise(SIGSEGV);
      },
      testing::KilledBySignal(SIGSEGV), "^$");
}

}  // namespace
}  // namespace tidegate::runtime
