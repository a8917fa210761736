// The least limit of the control groups that a process is in counts, of both versions.
#include "runtime/base/machine_memory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temporary.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::uint64_t machine = 1'000'000;

struct machine_memory_test : testing::Test {
  void write(const std::string& file, const std::string& text) const {
    const auto path = std::filesystem::path(root() + "/" + file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string root() const { return folder.path("root"); }
  tests::temporary_folder folder;
};

TEST_F(machine_memory_test, is_the_machines_without_a_limit) {
  EXPECT_EQ(memory_under(root(), machine), machine);
  write("proc/self/cgroup", "0::/user/run\n");
  write("sys/fs/cgroup/user/run/memory.max", "max\n");
  EXPECT_EQ(memory_under(root(), machine), machine);
}

TEST_F(machine_memory_test, is_the_least_limit_on_the_way_up) {
  write("proc/self/cgroup", "0::/user/run\n");
  write("sys/fs/cgroup/user/run/memory.max", "700000\n");
  write("sys/fs/cgroup/user/memory.max", "500000\n");
  EXPECT_EQ(memory_under(root(), machine), 500'000U);
}

TEST_F(machine_memory_test, is_that_of_the_first_version_where_there_is_one) {
  write("proc/self/cgroup", "9:name=systemd:/\n4:memory:/job\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(memory_under(root(), machine), 300'000U);
}

TEST_F(machine_memory_test, of_this_machine_is_something) {
  EXPECT_GT(machine_memory(), 1U << 20U);
}

}  // namespace
}  // namespace tidegate::runtime
