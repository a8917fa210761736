#include "runtime/memory/segment.hpp"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/memory/arena.hpp"
#include "runtime/memory/window.hpp"

namespace tidegate::runtime {
namespace {

TEST(segment, another_process_reads_what_is_written_and_survives_its_maker) {
  int names[2];
  int orders[2];
  ASSERT_EQ(pipe(names), 0);
  ASSERT_EQ(pipe(orders), 0);
  const auto child = fork();
  if (child == 0) {
    auto created = segment::create("test", 3 << 20);
    if (!created) _exit(1);
    std::memcpy(created->data() + 4096, "tide", 4);
    if (write(names[1], &created->name(), sizeof(segment_name)) < 0) _exit(2);
    char order = 0;
    while (read(orders[0], &order, 1) == 1) {
      std::memcpy(created->data() + 4096, "gate", 4);
      if (write(names[1], &order, 1) < 0) _exit(3);
    }
    pause();
  }
  segment_name name;
  ASSERT_EQ(read(names[0], &name, sizeof name), static_cast<ssize_t>(sizeof name));
  auto seen = segment::open(name);
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->size(), std::size_t{4} << 20) << "whole huge pages";
  seen->prepare(0, seen->size());
  EXPECT_EQ(std::memcmp(seen->data() + 4096, "tide", 4), 0);
  char order = 'x';
  ASSERT_EQ(write(orders[1], &order, 1), 1);
  ASSERT_EQ(read(names[0], &order, 1), 1);
  EXPECT_EQ(std::memcmp(seen->data() + 4096, "gate", 4), 0) << "in place, not a copy";
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(std::memcmp(seen->data() + 4096, "gate", 4), 0) << "stays while somebody maps it";
  EXPECT_EQ(segment::open(name).error().code(), errc::unavailable) << "nobody opens it anew";
  for (int fd : {names[0], names[1], orders[0], orders[1]}) close(fd);
}

TEST(segment, only_the_file_that_was_named_is_opened) {
  auto created = segment::create("test", 100);
  ASSERT_TRUE(created);
  const auto wrong = [&](auto change) {
    auto name = created->name();
    change(name);
    const auto opened = segment::open(name);
    return !opened && opened.error().code() == errc::unavailable;
  };
  EXPECT_FALSE(wrong([](auto&) {}));
  EXPECT_TRUE(wrong([](auto& n) { n.inode += 1; }));
  EXPECT_TRUE(wrong([](auto& n) { n.bytes += 1; }));
  EXPECT_TRUE(wrong([](auto& n) { n.bytes = 0; }));
  EXPECT_TRUE(wrong([](auto& n) { n.fd = 100'000; }));
  EXPECT_TRUE(wrong([](auto& n) { n.pid = 0; }));
  // A file that its maker could cut short would kill its reader.
  const int unsealed = memfd_create("unsealed", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(unsealed, 1 << 21), 0);
  struct stat found {};
  ASSERT_EQ(fstat(unsealed, &found), 0);
  EXPECT_TRUE(wrong([&](auto& n) {
    n.fd = static_cast<std::uint32_t>(unsealed);
    n.inode = found.st_ino;
    n.bytes = 1 << 21;
  }));
  close(unsealed);
}

TEST(segment, cannot_be_cut_short) {
  auto created = segment::create("test", 100);
  ASSERT_TRUE(created);
  EXPECT_NE(ftruncate(static_cast<int>(created->name().fd), 4096), 0);
}

TEST(arena, places_do_not_overlap_in_any_version_buffer) {
  arena memory("test", 3);
  std::vector<arena::place> places;
  for (const std::size_t bytes : {5u, 64u, 5000u, 3u << 20, 100u})
    places.push_back(*memory.allocate(bytes));
  for (std::uint32_t copy = 0; copy < 3; ++copy)
    for (std::size_t i = 0; i < places.size(); ++i)
      std::memset(memory.at(places[i], copy), static_cast<int>(1 + i + 10 * copy),
                  places[i].bytes);
  for (std::uint32_t copy = 0; copy < 3; ++copy)
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto* data = memory.at(places[i], copy);
      const auto value = static_cast<std::byte>(1 + i + 10 * copy);
      EXPECT_EQ(data[0], value);
      EXPECT_EQ(data[places[i].bytes - 1], value);
    }
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.at(places[2], 1)) % 4096, 0u);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.at(places[3], 0)) % (2 << 20), 0u);
}

std::uint64_t pages_of(const segment_name& name) {
  struct stat found {};
  EXPECT_EQ(::fstat(static_cast<int>(name.fd), &found), 0);
  return static_cast<std::uint64_t>(found.st_blocks) * 512 / segment::page_bytes;
}

TEST(arena, a_place_that_is_given_back_has_no_pages_and_its_neighbours_keep_theirs) {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  arena places("test", 2);
  const auto first = places.allocate(bytes);
  const auto second = places.allocate(bytes);
  ASSERT_TRUE(first && second);
  for (const std::uint32_t copy : {0U, 1U})
    for (const auto& place : {*first, *second}) std::memset(places.at(place, copy), 7, bytes);
  const auto name = places.name(*first).segment;
  const auto seen = segment::open(name);
  ASSERT_TRUE(seen);
  const auto before = pages_of(name);
  places.discard(*first);
  EXPECT_EQ(before - pages_of(name), 2 * bytes / segment::page_bytes);
  for (const std::uint32_t copy : {0U, 1U}) {
    EXPECT_EQ(*places.at(*first, copy), std::byte{0});
    EXPECT_EQ(places.at(*second, copy)[bytes - 1], std::byte{7});
  }
  EXPECT_EQ(seen->data()[places.name(*first).offset], std::byte{0}) << "no SIGBUS elsewhere";
}

TEST(window, sees_every_version_buffer_and_believes_no_name) {
  arena memory("test", 2);
  const auto place = *memory.allocate(256);
  std::memset(memory.at(place, 1), 7, 256);
  window_map windows;
  const auto seen = windows.open(memory.name(place), 256, 2, 2);
  ASSERT_TRUE(seen) << seen.error().message();
  EXPECT_EQ(seen->at(1)[255], std::byte{7});
  EXPECT_EQ(seen->at(0)[0], std::byte{0});
  const auto refused = [&](auto change, std::uint64_t bytes, std::uint32_t copies) {
    auto name = memory.name(place);
    change(name);
    const auto opened = windows.open(name, bytes, copies, 1);
    return !opened && opened.error().code() == errc::corrupt;
  };
  EXPECT_TRUE(refused([](auto&) {}, 256, 3)) << "more planes than there are";
  EXPECT_TRUE(refused([](auto&) {}, 1ull << 40, 2));
  EXPECT_TRUE(refused([](auto&) {}, 0, 2));
  EXPECT_TRUE(refused([](auto& n) { n.offset = ~0ull - 3; }, 256, 2));
  EXPECT_TRUE(refused([](auto& n) { n.offset += 2; }, 16, 2)) << "no whole float32";
  EXPECT_TRUE(refused([](auto& n) { n.copy_bytes = 0; }, 256, 2));
}

}  // namespace
}  // namespace tidegate::runtime
