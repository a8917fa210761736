#include "launch/stale_segments.hpp"

#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
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

}  // namespace
}  // namespace tidegate::launch
