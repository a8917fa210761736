#include "runtime/process/fork_count.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

// Runs `check` in a forked process; returns whether it returned true there.
template <class Check>
bool holds_in_a_child(const Check& check) {
  const auto child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(fork_count, rises_in_the_child_and_not_in_the_parent) {
  const auto before = fork_count();
  EXPECT_TRUE(holds_in_a_child([&] {
    return fork_count() == before + 1 &&
           holds_in_a_child([&] { return fork_count() == before + 2; });
  }));
  EXPECT_EQ(fork_count(), before);
}

}  // namespace
}  // namespace tidegate::runtime
