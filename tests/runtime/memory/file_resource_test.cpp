#include "runtime/memory/file_resource.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/disk_folder.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::size_t large = 1U << 20U;  // floats

TEST(file_resource, has_large_arrays_in_files_until_they_go) {
  const auto folder = tests::disk_folder();
  if (!folder) GTEST_SKIP() << "no folder on a disk";
  file_resource memory(*folder);
  {
    std::pmr::vector<float> few(1000, 1.0F, &memory);
    EXPECT_EQ(memory.bytes_in_files(), 0U);
    std::pmr::vector<float> many(&memory);
    many.resize(large);
    EXPECT_EQ(memory.bytes_in_files(), large * sizeof(float));
    std::iota(many.begin(), many.end(), 0.0F);
    const std::pmr::vector<float> others(many, &memory);
    EXPECT_EQ(memory.bytes_in_files(), 2 * large * sizeof(float));
    EXPECT_EQ(others[large - 1], static_cast<float>(large - 1));
  }
  EXPECT_EQ(memory.bytes_in_files(), 0U);
}

TEST(file_resource, has_arrays_in_memory_where_there_is_no_disk) {
  for (const auto* folder : {"/nowhere", "/dev/shm"}) {
    file_resource memory(folder);
    const std::pmr::vector<float> many(large, 3.0F, &memory);
    EXPECT_EQ(memory.bytes_in_files(), 0U);
    EXPECT_EQ(std::count(many.begin(), many.end(), 3.0F), static_cast<std::ptrdiff_t>(large));
  }
}

TEST(file_resource_disk, that_is_full_is_not_needed) {
  const tests::small_disk disk(8U << 20U);
  if (disk.path().empty()) GTEST_SKIP() << "no disk can be mounted";
  file_resource memory(disk.path());
  const std::pmr::vector<float> first(large, 1.0F, &memory);
  EXPECT_EQ(memory.bytes_in_files(), large * sizeof(float));
  const std::pmr::vector<float> second(large, 2.0F, &memory);
  EXPECT_EQ(memory.bytes_in_files(), large * sizeof(float));
  EXPECT_EQ(first.back() + second.back(), 3.0F);
}

}  // namespace
}  // namespace tidegate::runtime
