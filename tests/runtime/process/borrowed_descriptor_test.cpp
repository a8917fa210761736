#include "runtime/process/borrowed_descriptor.hpp"

#include <csignal>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

constexpr char word[] = "tide";

struct offer {
  process_mark owner;
  int descriptor = -1;
};

// Writes a word to a file without a name, says where it is, and lives until it is killed.
[[noreturn]] void run_owner(int offers) {
  let_descriptors_be_borrowed();
  const offer mine{.owner = own_mark(), .descriptor = ::memfd_create("borrowed", 0)};
  if (::write(mine.descriptor, word, sizeof word) != sizeof word) ::_exit(1);
  if (::write(offers, &mine, sizeof mine) != sizeof mine) ::_exit(2);
  while (true) ::pause();
}

class borrowed_descriptor : public testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const unique_fd mine(ends[0]);
    unique_fd theirs(ends[1]);
    if (const auto copy = borrow_descriptor(own_mark(), ends[0]); !copy)
      GTEST_SKIP() << copy.error().message();
    pid_ = ::fork();
    if (pid_ == 0) run_owner(theirs.get());
    theirs.reset();
    ASSERT_EQ(::read(mine.get(), &offer_, sizeof offer_), static_cast<ssize_t>(sizeof offer_));
  }
  void TearDown() override { end_owner(); }
  void end_owner() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // Expects that nothing is lent, for a reason.
  static void expect_refused(const process_mark& owner, int descriptor,
                             const std::string& reason) {
    const auto copy = borrow_descriptor(owner, descriptor);
    ASSERT_FALSE(copy);
    EXPECT_EQ(copy.error().code(), errc::unavailable);
    EXPECT_NE(copy.error().message().find(reason), std::string::npos) << copy.error().message();
  }

  pid_t pid_ = -1;
  offer offer_;
};

TEST_F(borrowed_descriptor, shows_the_file_also_when_its_owner_has_been_killed) {
  const auto copy = borrow_descriptor(offer_.owner, offer_.descriptor);
  ASSERT_TRUE(copy) << copy.error().message();
  EXPECT_TRUE(::fcntl(copy->get(), F_GETFD) & FD_CLOEXEC);
  end_owner();
  char found[sizeof word] = {};
  ASSERT_EQ(::pread(copy->get(), found, sizeof found, 0), static_cast<ssize_t>(sizeof found));
  EXPECT_STREQ(found, word);
}

TEST_F(borrowed_descriptor, is_that_of_a_process_which_lives) {
  auto other = offer_.owner;
  ++other.started;
  expect_refused(other, offer_.descriptor, "has ended");
  expect_refused(offer_.owner, 4711, "has closed its descriptor 4711");
  expect_refused(offer_.owner, -1, "has closed its descriptor -1");
  expect_refused({}, offer_.descriptor, "is no process");
  ::kill(pid_, SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT), 0);
  expect_refused(offer_.owner, offer_.descriptor, "has ended");
  end_owner();
  expect_refused(offer_.owner, offer_.descriptor, "has ended");
}

}  // namespace
}  // namespace tidegate::runtime
