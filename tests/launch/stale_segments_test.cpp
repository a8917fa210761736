#include "launch/stale_segments.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

namespace fs = std::filesystem;

class stale_segments : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/tidegate-segments-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }
  int make(const std::string& name) const {
    const int fd = ::open((folder / name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(fd, 4096), 0);
    return fd;
  }
  bool is_there(const std::string& name) const { return fs::exists(folder / name); }

  fs::path folder;
};

TEST_F(stale_segments, what_nobody_has_goes_and_the_rest_stays) {
  ::close(make("ucx_shm_posix_1"));
  ::close(make("somebody_elses"));
  const int open = make("ucx_shm_posix_open");
  const int fd = make("ucx_shm_posix_mapped");
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::close(fd);
  EXPECT_EQ(remove_stale_segments(folder), 1);
  EXPECT_FALSE(is_there("ucx_shm_posix_1"));
  EXPECT_TRUE(is_there("somebody_elses"));
  EXPECT_TRUE(is_there("ucx_shm_posix_open"));
  EXPECT_TRUE(is_there("ucx_shm_posix_mapped"));
  ::munmap(mapped, 4096);
  ::close(open);
  EXPECT_EQ(remove_stale_segments(folder), 2);
}

// Of a process that is killed before it has attached to what it has made.
TEST(segments_of, a_process_that_has_ended_go) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto maker = ::fork();
  if (maker == 0) {
    const int made = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    ::_exit(::write(ends[1], &made, sizeof made) == sizeof made ? 0 : 1);
  }
  int made = -1;
  ASSERT_EQ(::read(ends[0], &made, sizeof made), static_cast<ssize_t>(sizeof made));
  ::waitpid(maker, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  const pid_t others[] = {::getpid(), ::getppid()};
  EXPECT_EQ(remove_segments_of(others), 0);
  void* attached = ::shmat(made, nullptr, 0);
  const pid_t makers[] = {::getpid(), maker};
  EXPECT_EQ(remove_segments_of(makers), 0) << "somebody has it";
  ::shmdt(attached);
  EXPECT_EQ(remove_segments_of(makers), 1);
  EXPECT_EQ(::shmat(made, nullptr, 0), reinterpret_cast<void*>(-1));
}

}  // namespace
}  // namespace tidegate::launch
