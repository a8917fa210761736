// A journal in a file: what was written is there after the process was killed, in whatever
// moment, a file that is no journal is told so, and one process has it.
#include "runtime/storage/sqlite_journal.hpp"

#include <csignal>
#include <fstream>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace {

int syncs = 0;

}  // namespace

// In place of the C library's, for SQLite too: how often it asks the disk.
extern "C" int fdatasync(int fd) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
extern "C" int fsync(int fd) {
  ++syncs;
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace tidegate::runtime {
namespace {

using entries = std::vector<journal_entry>;

class sqlite_journal_test : public testing::Test {
 protected:
  std::unique_ptr<sqlite_journal> open() {
    auto opened = sqlite_journal::open(path);
    EXPECT_TRUE(opened) << opened.error().to_string();
    return opened ? std::move(*opened) : nullptr;
  }
  tests::temporary_folder folder;
  std::string path = folder.path("journal");
};

TEST_F(sqlite_journal_test, the_last_text_of_a_key_counts) {
  {
    const auto journal = open();
    EXPECT_EQ(*journal->read(), entries());
    ASSERT_TRUE(journal->write(entries{{"b", "1"}, {"a", std::string("\0\xff", 2)}}).ok());
    ASSERT_TRUE(journal->write(entries{{"b", "2"}, {"", ""}}).ok());
    ASSERT_TRUE(journal->write({}).ok());
  }
  EXPECT_EQ(*open()->read(), (entries{{"", ""}, {"a", std::string("\0\xff", 2)}, {"b", "2"}}));
}

TEST_F(sqlite_journal_test, waits_for_the_disk_only_if_it_is_to_survive_the_machine) {
  constexpr int writes = 100;
  const auto syncs_of = [&](const std::string& name, journal_survives end) {
    const auto journal = sqlite_journal::open(folder.path(name), end);
    EXPECT_TRUE(journal) << journal.error().to_string();
    syncs = 0;
    for (int i = 0; i < writes; ++i)
      EXPECT_TRUE((*journal)->write(entries{{std::to_string(i), "x"}}).ok());
    return syncs;
  };
  EXPECT_GE(syncs_of("machine", journal_survives::machine), writes);
  EXPECT_LT(syncs_of("process", journal_survives::process), writes / 10);
}

TEST_F(sqlite_journal_test, what_was_written_outlives_a_kill) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto child = ::fork();
  if (child == 0) {
    const auto journal = sqlite_journal::open(path, journal_survives::process);
    for (unsigned i = 1;; ++i) {
      const auto text = std::to_string(i);
      if (!(*journal)->write(entries{{"x", text}, {"y", text}}).ok()) _exit(1);
      if (::write(ends[1], &i, sizeof i) != sizeof i) _exit(1);
    }
  }
  unsigned last = 0;
  while (last < 40) ASSERT_EQ(::read(ends[0], &last, sizeof last), ssize_t{sizeof last});
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[1]);
  while (::read(ends[0], &last, sizeof last) == ssize_t{sizeof last}) continue;
  ::close(ends[0]);
  const auto found = *open()->read();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].value, found[1].value) << "a write is whole";
  const auto there = std::stoul(found[0].value);
  EXPECT_GE(there, last) << "it was told to be durable";
  EXPECT_LE(there, last + 1);
}

TEST_F(sqlite_journal_test, a_file_that_is_none_is_told_so) {
  std::ofstream(path) << std::string(10'000, 'x');
  const auto opened = sqlite_journal::open(path);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code(), errc::corrupt);
  EXPECT_NE(opened.error().message().find(path), std::string::npos);
  EXPECT_EQ(sqlite_journal::open(folder.path("no/folder")).error().code(), errc::io_error);
}

}  // namespace
}  // namespace tidegate::runtime
