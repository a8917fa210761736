// What posix_storage does with a folder of a real file system, and what it says when that says
// no.
#include "runtime/storage/posix_storage.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>

#include <gmock/gmock.h>

#include "tests/support/temporary.hpp"

namespace tidegate::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

struct posix_storage_test : testing::Test {
  posix_storage storage_in(const std::string& name = "") {
    auto result = posix_storage::make(folder.path(name));
    EXPECT_TRUE(result) << result.error().message();
    return std::move(*result);
  }
  // A closed file.
  static void write(storage& where, const std::string& name, const std::string& text) {
    ASSERT_TRUE(where.create(name));
    ASSERT_TRUE(where.append(name, bytes(text)));
    ASSERT_TRUE(where.sync(name));
    ASSERT_TRUE(where.close(name));
  }
  static std::string read(storage& where, const std::string& name) {
    std::string text(where.size(name).value_or(0), '\0');
    EXPECT_TRUE(where.read(name, 0, std::as_writable_bytes(std::span(text))));
    return text;
  }

  const tests::temporary_folder folder;
};

TEST_F(posix_storage_test, a_file_is_written_in_pieces_renamed_and_read_in_parts) {
  auto disk = storage_in();
  ASSERT_TRUE(disk.create("a.tmp"));
  ASSERT_TRUE(disk.append("a.tmp", bytes("tide")));
  ASSERT_TRUE(disk.append("a.tmp", bytes("")));
  ASSERT_TRUE(disk.append("a.tmp", bytes("gate")));
  ASSERT_TRUE(disk.sync("a.tmp"));
  ASSERT_TRUE(disk.close("a.tmp"));
  ASSERT_TRUE(disk.rename("a.tmp", "a"));
  ASSERT_TRUE(disk.sync_folder());
  EXPECT_THAT(*disk.list(), ElementsAre("a"));
  EXPECT_EQ(*disk.size("a"), 8U);
  std::string middle(4, ' ');
  ASSERT_TRUE(disk.read("a", 2, std::as_writable_bytes(std::span(middle))));
  EXPECT_EQ(middle, "dega");
  const auto beyond = disk.read("a", 6, std::as_writable_bytes(std::span(middle)));
  EXPECT_EQ(beyond.code(), errc::corrupt);
  EXPECT_THAT(beyond.message(), HasSubstr("/a: ends at byte 8, 2 bytes too early"));
}

TEST_F(posix_storage_test, a_rename_replaces) {
  auto disk = storage_in();
  write(disk, "new", "2");
  write(disk, "old", "1");
  ASSERT_TRUE(disk.rename("new", "old"));
  EXPECT_THAT(*disk.list(), ElementsAre("old"));
  EXPECT_EQ(read(disk, "old"), "2");
}

TEST_F(posix_storage_test, what_is_not_there_or_is_there_already_is_told_with_its_path) {
  auto disk = storage_in();
  write(disk, "there", "");
  EXPECT_EQ(disk.create("there").code(), errc::already_exists);
  EXPECT_EQ(disk.remove("none").code(), errc::not_found);
  EXPECT_EQ(disk.size("none").error().code(), errc::not_found);
  EXPECT_EQ(disk.rename("none", "other").code(), errc::not_found);
  std::byte byte{};
  const auto why = disk.read("none", 0, {&byte, 1});
  EXPECT_EQ(why.code(), errc::not_found);
  EXPECT_THAT(why.message(), HasSubstr(folder.path("/none")));
  EXPECT_EQ(posix_storage::open(folder.path("no")).error().code(), errc::not_found);
  EXPECT_EQ(posix_storage::make(folder.path("there/x")).error().code(), errc::io_error);
}

TEST_F(posix_storage_test, names_lead_nowhere_else) {
  auto disk = storage_in("in");
  std::ofstream(folder.path("out")) << "x";
  for (const std::string name : {"", ".", "..", "../out", ".x", "a/b", "a b", "\n"}) {
    EXPECT_EQ(disk.create(name).code(), errc::invalid_argument) << name;
    EXPECT_EQ(disk.remove(name).code(), errc::invalid_argument) << name;
    EXPECT_EQ(disk.size(name).error().code(), errc::invalid_argument) << name;
  }
  EXPECT_EQ(disk.create(std::string(201, 'a')).code(), errc::invalid_argument);
  EXPECT_TRUE(disk.create(std::string(200, 'a')));
  std::filesystem::create_symlink(folder.path("out"), folder.path("in/link"));
  std::filesystem::create_directory(folder.path("in/folder"));
  std::byte byte{};
  EXPECT_EQ(disk.read("link", 0, {&byte, 1}).code(), errc::io_error);
  EXPECT_THAT(*disk.list(), ElementsAre(std::string(200, 'a')));
}

TEST_F(posix_storage_test, makes_folders_above_and_keeps_what_is_there) {
  {
    auto disk = storage_in("a/b/c");
    write(disk, "x", "1");
  }
  auto again = storage_in("a/b/c");
  EXPECT_EQ(read(again, "x"), "1");
}

TEST_F(posix_storage_test, a_file_that_is_removed_while_it_is_written_is_closed) {
  auto disk = storage_in();
  ASSERT_TRUE(disk.create("x"));
  ASSERT_TRUE(disk.append("x", bytes("1")));
  ASSERT_TRUE(disk.remove("x"));
  EXPECT_DEATH((void)disk.append("x", bytes("2")), "not closed");
  write(disk, "x", "3");
  EXPECT_EQ(read(disk, "x"), "3");
}

// A limit on the size of files ends a write in its middle, as a full disk does.
TEST_F(posix_storage_test, a_write_that_is_cut_short_goes_on_and_says_no_space) {
  auto disk = storage_in();
  ASSERT_TRUE(disk.create("x"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto why = disk.append("x", bytes(std::string(3000, 'a')));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(why.code(), errc::no_space);
  EXPECT_THAT(why.message(), HasSubstr("/x: cannot be written: "));
  EXPECT_THAT(why.message(), HasSubstr("free some"));
  EXPECT_EQ(*disk.size("x"), 1000U);
}

}  // namespace
}  // namespace tidegate::runtime
