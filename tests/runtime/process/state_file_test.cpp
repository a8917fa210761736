#include "runtime/process/state_file.hpp"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

constexpr std::uint64_t token = 0x1234;
constexpr std::size_t bytes = 1U << 20U;

TEST(state_file, keeps_what_a_killed_process_has_written) {
  const auto file = state_file::make(token, bytes);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->put(8, 7).ok());
  for (int incarnation = 0; incarnation < 3; ++incarnation) {
    const auto pid = ::fork();
    if (pid == 0) {
      auto mine = state_file::open(::dup(file->fd()), token);
      if (!mine || mine->bytes().size() != bytes) ::_exit(1);
      std::uint64_t count = 0;
      std::memcpy(&count, mine->bytes().data() + 8, sizeof count);
      ++count;
      mine->store(8, count);
      ::kill(::getpid(), SIGKILL);
    }
    int end = 0;
    ASSERT_EQ(::waitpid(pid, &end, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(end));
  }
  const auto last = state_file::open(::dup(file->fd()), token);
  ASSERT_TRUE(last);
  std::uint64_t count = 0;
  std::memcpy(&count, last->bytes().data() + 8, sizeof count);
  EXPECT_EQ(count, 10U);
}

TEST(state_file, takes_pages_only_where_they_are_reserved) {
  const auto file = state_file::make(token, std::size_t{1} << 36U);
  ASSERT_TRUE(file) << "64 GiB that nobody uses";
  auto mapped = state_file::open(::dup(file->fd()), token);
  ASSERT_TRUE(mapped);
  struct stat before = {}, after = {};
  ASSERT_EQ(::fstat(file->fd(), &before), 0);
  ASSERT_TRUE(mapped->reserve(bytes, bytes).ok());
  ASSERT_EQ(::fstat(file->fd(), &after), 0);
  EXPECT_GE(after.st_blocks - before.st_blocks, static_cast<blkcnt_t>(bytes / 512));
  EXPECT_LE(after.st_blocks, static_cast<blkcnt_t>(2 * bytes / 512));
  EXPECT_EQ(mapped->reserve(std::size_t{1} << 40U, bytes).code(), errc::no_space)
      << "beyond its size, which is sealed";
}

TEST(state_file, is_not_taken_for_what_it_is_not) {
  const auto file = state_file::make(token, bytes);
  ASSERT_TRUE(file);
  const auto other_run = state_file::open(file->fd(), token + 1);
  ASSERT_FALSE(other_run);
  EXPECT_EQ(other_run.error().code(), errc::unavailable);
  EXPECT_NE(other_run.error().message().find("did not come through"), std::string::npos);
  EXPECT_FALSE(state_file::open(-1, token));
  const unique_fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(state_file::open(null.get(), token));
  EXPECT_EQ(::fcntl(null.get(), F_GETFD), FD_CLOEXEC) << "it is left alone";
}

}  // namespace
}  // namespace tidegate::runtime
