#include "runtime/objects/s3_storage.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "tests/runtime/objects/store_of_tests.hpp"

namespace tidegate::runtime {
namespace {

using testing::ElementsAre;
using tests::bytes;

struct s3_storage_test : testing::Test {
  s3_storage open() {
    auto bucket = s3_bucket::open(store.account(), {.bucket = "abc", .prefix = "mlp"},
                                  {.retry_ms = 1'000});
    EXPECT_TRUE(bucket);
    return s3_storage(std::move(*bucket));
  }
  static void write(storage& where, const std::string& name,
                    std::span<const std::byte> content) {
    ASSERT_TRUE(where.create(name + ".tmp").ok());
    ASSERT_TRUE(where.append(name + ".tmp", content).ok());
    ASSERT_TRUE(where.sync(name + ".tmp").ok());
    ASSERT_TRUE(where.close(name + ".tmp").ok());
    ASSERT_TRUE(where.rename(name + ".tmp", name).ok());
  }

  tests::store_of_tests store;
};

TEST_F(s3_storage_test, a_file_is_there_as_a_whole_once_it_has_its_name) {
  auto disk = open();
  ASSERT_TRUE(disk.create("a.tmp").ok());
  ASSERT_TRUE(disk.append("a.tmp", bytes("tide")).ok());
  ASSERT_TRUE(disk.append("a.tmp", bytes("gate")).ok());
  ASSERT_TRUE(disk.close("a.tmp").ok());
  EXPECT_TRUE(store.objects().empty());
  ASSERT_TRUE(disk.rename("a.tmp", "a").ok());
  EXPECT_THAT(*disk.list(), ElementsAre("a"));
  EXPECT_EQ(*disk.size("a"), 8U);
  std::string middle(4, ' ');
  ASSERT_TRUE(disk.read("a", 2, std::as_writable_bytes(std::span(middle))).ok());
  EXPECT_EQ(middle, "dega");
  std::string more(9, ' ');
  EXPECT_EQ(disk.read("a", 0, std::as_writable_bytes(std::span(more))).code(), errc::corrupt);
  write(disk, "a", bytes("other"));
  ASSERT_TRUE(disk.read("a", 1, std::as_writable_bytes(std::span(middle))).ok());
  EXPECT_EQ(middle, "ther") << "not what was read before";
}

TEST_F(s3_storage_test, a_file_under_its_own_name_is_new) {
  auto disk = open();
  const auto make = [&](const std::string& text) {
    EXPECT_TRUE(disk.create("epoch-0001").ok());
    EXPECT_TRUE(disk.append("epoch-0001", bytes(text)).ok());
    return disk.close("epoch-0001");
  };
  EXPECT_TRUE(make("first").ok());
  EXPECT_EQ(make("second").code(), errc::already_exists);
  EXPECT_EQ(store.objects().at("abc/mlp/epoch-0001"), "first");
  EXPECT_TRUE(disk.remove("epoch-0001").ok());
  EXPECT_TRUE(store.objects().empty()) << "it was the store's, and not one that waits here";
}

TEST_F(s3_storage_test, a_large_file_goes_in_parts_that_others_see_as_temporary) {
  std::vector<std::byte> large(s3_storage::part_bytes * 2 + 12345);
  for (std::size_t i = 0; i < large.size(); ++i)
    large[i] = static_cast<std::byte>(i * 31 >> 7U);
  auto disk = open();
  ASSERT_TRUE(disk.create("a.tmp").ok());
  ASSERT_TRUE(disk.append("a.tmp", large).ok());
  auto other = open();
  EXPECT_THAT(*other.list(), ElementsAre("a.tmp"));
  ASSERT_TRUE(disk.close("a.tmp").ok());
  ASSERT_TRUE(disk.rename("a.tmp", "a").ok());
  EXPECT_THAT(*other.list(), ElementsAre("a"));
  std::vector<std::byte> piece(std::size_t{1} << 20U);
  for (std::size_t at = 0; at + piece.size() <= large.size(); at += piece.size()) {
    ASSERT_TRUE(other.read("a", at, piece).ok());
    ASSERT_EQ(std::memcmp(piece.data(), large.data() + at, piece.size()), 0) << at;
  }
  std::vector<std::byte> whole(large.size());
  ASSERT_TRUE(other.read("a", 0, whole).ok());
  EXPECT_TRUE(whole == large);
}

TEST_F(s3_storage_test, what_a_process_has_left_of_an_upload_can_be_removed) {
  const std::vector<std::byte> large(s3_storage::part_bytes + 1);
  {
    auto gone = open();
    ASSERT_TRUE(gone.create("a.tmp").ok());
    ASSERT_TRUE(gone.append("a.tmp", large).ok());
  }
  auto disk = open();
  EXPECT_THAT(*disk.list(), ElementsAre("a.tmp"));
  EXPECT_TRUE(disk.remove("a.tmp").ok());
  EXPECT_EQ(store.uploads(), 0U);
  EXPECT_THAT(*disk.list(), ElementsAre());
  ASSERT_TRUE(disk.create("b.tmp").ok());
  ASSERT_TRUE(disk.append("b.tmp", large).ok());
  EXPECT_TRUE(disk.remove("b.tmp").ok()) << "and what is being written here";
  EXPECT_EQ(store.uploads(), 0U);
}

TEST_F(s3_storage_test, does_not_do_what_a_store_cannot) {
  auto disk = open();
  write(disk, "a", bytes("x"));
  EXPECT_EQ(disk.rename("a", "b").code(), errc::invalid_argument);
  EXPECT_EQ(disk.create("a/b").code(), errc::invalid_argument);
  EXPECT_EQ(disk.create("").code(), errc::invalid_argument);
  EXPECT_EQ(disk.remove("../a").code(), errc::invalid_argument);
  ASSERT_TRUE(disk.create("c.tmp").ok());
  EXPECT_EQ(disk.create("c.tmp").code(), errc::already_exists);
}

}  // namespace
}  // namespace tidegate::runtime
