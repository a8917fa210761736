#include "runtime/memory/backing_file.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/disk_folder.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::uint64_t file_bytes = 1U << 20U;
constexpr auto page_bytes = segment::page_bytes;

// A range of addresses that a file is mapped at.
class addresses {
 public:
  addresses()
      : at_(static_cast<std::byte*>(
            ::mmap(nullptr, file_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~addresses() { ::munmap(at_, file_bytes); }
  addresses(const addresses&) = delete;
  addresses& operator=(const addresses&) = delete;
  std::byte* at(std::uint64_t offset = 0) const { return at_ + offset; }

 private:
  std::byte* at_;
};

std::size_t pages_in_memory(const addresses& mapped) {
  std::vector<unsigned char> found(file_bytes / page_bytes);
  backing_file::look(mapped.at(), found);
  return static_cast<std::size_t>(std::count(found.begin(), found.end(), 1));
}

class backing_file_test : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = tests::disk_folder();
    if (!folder_) GTEST_SKIP() << "no folder on a disk";
  }
  backing_file create() {
    auto file = backing_file::create(*folder_, file_bytes);
    EXPECT_TRUE(file) << file.error().message();
    return std::move(*file);
  }

  std::optional<std::string> folder_;
};

TEST_F(backing_file_test, another_process_reads_what_is_written_and_survives_its_maker) {
  int names[2];
  ASSERT_EQ(pipe(names), 0);
  const auto child = fork();
  if (child == 0) {
    const addresses mapped;
    const auto file = backing_file::create(*folder_, file_bytes);
    if (!file || !file->map_at(mapped.at()) || !file->reserve(0, 2 * page_bytes).ok()) _exit(1);
    std::memcpy(mapped.at(page_bytes), "tide", 4);
    if (write(names[1], &file->name(), sizeof(segment_name)) < 0) _exit(2);
    pause();
  }
  segment_name name;
  ASSERT_EQ(read(names[0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
  const addresses mapped;
  {
    const auto seen = backing_file::open(name);
    ASSERT_TRUE(seen) << seen.error().message();
    EXPECT_EQ(seen->size(), file_bytes);
    ASSERT_TRUE(seen->map_at(mapped.at()));
  }
  EXPECT_EQ(std::memcmp(mapped.at(page_bytes), "tide", 4), 0);
  EXPECT_EQ(mapped.at(10 * page_bytes)[0], std::byte{0}) << "what has no space is zero";
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(std::memcmp(mapped.at(page_bytes), "tide", 4), 0) << "stays while it is mapped";
  EXPECT_EQ(backing_file::open(name).error().code(), errc::unavailable);
  for (const int fd : {names[0], names[1]}) close(fd);
}

TEST_F(backing_file_test, leaves_nothing_in_its_folder) {
  const tests::temporary_folder own;
  if (!backing_file::check_folder(own.path("")).ok()) GTEST_SKIP() << "it lies in memory";
  const auto file = backing_file::create(own.path(""), file_bytes);
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_TRUE(file->reserve(0, file_bytes).ok());
  EXPECT_TRUE(std::filesystem::is_empty(own.path(""))) << "whoever is killed leaves no file";
}

TEST_F(backing_file_test, only_the_file_that_was_named_is_opened) {
  const auto file = create();
  const auto wrong = [&](auto change) {
    auto name = file.name();
    change(name);
    const auto opened = backing_file::open(name);
    return !opened && opened.error().code() == errc::unavailable;
  };
  EXPECT_FALSE(wrong([](auto&) {}));
  EXPECT_TRUE(wrong([](auto& n) { n.inode += 1; }));
  EXPECT_TRUE(wrong([](auto& n) { n.bytes += 1; }));
  EXPECT_TRUE(wrong([](auto& n) { n.bytes = 0; }));
  EXPECT_TRUE(wrong([](auto& n) { n.fd = 100'000; }));
  EXPECT_TRUE(wrong([](auto& n) { n.pid = 0; }));
}

TEST_F(backing_file_test, pages_that_are_dropped_are_written_and_read_again) {
  const auto file = create();
  const addresses mapped;
  ASSERT_TRUE(file.map_at(mapped.at()));
  ASSERT_TRUE(file.reserve(0, file_bytes).ok());
  for (std::uint64_t page = 0; page < file_bytes / page_bytes; ++page)
    std::memcpy(mapped.at(page * page_bytes), &page, sizeof page);
  ASSERT_EQ(pages_in_memory(mapped), file_bytes / page_bytes);
  file.start_writing(0, file_bytes / 2);
  EXPECT_TRUE(file.drop(mapped.at(), 0, file_bytes - page_bytes).ok());
  EXPECT_EQ(pages_in_memory(mapped), 1U) << "all but the last";
  file.start_reading(4 * page_bytes, 2 * page_bytes);
  for (std::uint64_t page = 0; page < file_bytes / page_bytes; ++page)
    ASSERT_EQ(std::memcmp(mapped.at(page * page_bytes), &page, sizeof page), 0) << page;
}

TEST_F(backing_file_test, what_is_read_is_no_more_than_was_asked_for) {
  const auto file = create();
  const addresses mapped;
  ASSERT_TRUE(file.map_at(mapped.at()));
  ASSERT_TRUE(file.reserve(0, file_bytes).ok());
  std::memset(mapped.at(), 1, file_bytes);
  EXPECT_TRUE(file.drop(mapped.at(), 0, file_bytes).ok());
  ASSERT_EQ(pages_in_memory(mapped), 0U);
  EXPECT_EQ(mapped.at(40 * page_bytes)[0], std::byte{1});
  EXPECT_EQ(pages_in_memory(mapped), 1U) << "nothing beside it";
}

// tmpfs is in every kernel, but need not be mounted here.
TEST(backing_file_folder, in_memory_or_missing_is_refused) {
  const auto missing = backing_file::check_folder("/nowhere/at all");
  EXPECT_EQ(missing.code(), errc::io_error);
  EXPECT_NE(missing.message().find("/nowhere/at all"), std::string::npos);
  EXPECT_EQ(backing_file::create("/nowhere", 4096).error().code(), errc::io_error);
  if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "no /dev/shm";
  const auto in_memory = backing_file::create("/dev/shm", 4096);
  ASSERT_FALSE(in_memory);
  EXPECT_EQ(in_memory.error().code(), errc::invalid_argument);
  EXPECT_NE(in_memory.error().message().find("allowed: a folder on a disk"), std::string::npos);
}

// What was reserved can be written on a disk that is full since.
TEST(backing_file_disk, that_is_full_is_an_error_before_anything_is_written) {
  const tests::small_disk disk(16U << 20U);
  if (disk.path().empty()) GTEST_SKIP() << "no disk can be mounted";
  const auto file = backing_file::create(disk.path(), 1U << 30U);
  ASSERT_TRUE(file) << file.error().message();
  auto* const mapped = static_cast<std::byte*>(
      ::mmap(nullptr, file->size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_TRUE(file->map_at(mapped));
  constexpr std::uint64_t reserved = 8U << 20U;
  ASSERT_TRUE(file->reserve(0, reserved).ok());
  const auto left = disk.free_bytes();
  EXPECT_EQ(file->reserve(reserved, 512U << 20U).code(), errc::no_space);
  EXPECT_EQ(disk.free_bytes(), left) << "what it took before it failed is given back";
  ASSERT_TRUE(
      file->reserve(reserved, left / segment::page_bytes * segment::page_bytes - (1U << 20U))
          .ok());
  std::memset(mapped, 7, reserved);
  EXPECT_TRUE(file->drop(mapped, 0, reserved).ok());
  EXPECT_EQ(mapped[reserved - 1], std::byte{7});
  ::munmap(mapped, file->size());
}

// The kernel takes pages for written that it could not write.
TEST(backing_file_disk, that_loses_what_is_written_is_noticed_when_pages_are_dropped) {
  const tests::small_disk disk(64U << 20U, 8U << 20U);
  if (disk.path().empty()) GTEST_SKIP() << "no disk can be mounted";
  const auto file = backing_file::create(disk.path(), 32U << 20U);
  ASSERT_TRUE(file) << file.error().message();
  auto* const mapped = static_cast<std::byte*>(
      ::mmap(nullptr, file->size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_TRUE(file->map_at(mapped));
  ASSERT_TRUE(file->reserve(0, file->size()).ok());
  constexpr std::uint64_t run = 1U << 20U;
  status dropped;
  for (std::uint64_t at = 0; at < file->size() && dropped.ok(); at += run) {
    std::memset(mapped + at, 7, run);
    dropped = file->drop(mapped + at, at, run);
  }
  EXPECT_EQ(dropped.code(), errc::io_error);
  ::munmap(mapped, file->size());
}

}  // namespace
}  // namespace tidegate::runtime
