// The reader of IDX files: good input, and every way in which a file can be bad.
#include "examples/fashion_mnist/idx.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <zlib.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidegate::examples {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class idx_test : public testing::Test {
 protected:
  idx_test() {
    std::string pattern = testing::TempDir() + "/idx_test.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~idx_test() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string write(const std::string& name, const std::string& content) const {
    gzFile file = gzopen(path(name).c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
    return path(name);
  }

  static std::string header(std::uint32_t magic, const std::vector<std::uint32_t>& shape) {
    std::string out;
    auto put = [&out](std::uint32_t x) {
      for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(x >> shift));
    };
    put(magic);
    for (auto size : shape) put(size);
    return out;
  }

  void write_split(const std::string& prefix, std::uint32_t images, const std::string& labels) {
    write(prefix + "-images-idx3-ubyte.gz",
          header(0x803, {images, 1, 2}) + std::string(images * 2, 'x'));
    write(prefix + "-labels-idx1-ubyte.gz",
          header(0x801, {static_cast<std::uint32_t>(labels.size())}) + labels);
  }

  std::string folder_;
};

TEST_F(idx_test, reads_shape_and_bytes) {
  const auto file = write("good", header(0x803, {2, 1, 3}) + "abcdef");
  const auto result = read_idx(file, 3);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_THAT(result->shape, ElementsAre(2, 1, 3));
  EXPECT_EQ(std::string(result->bytes.begin(), result->bytes.end()), "abcdef");
}

TEST_F(idx_test, missing_file_says_what_to_install) {
  const auto result = read_split(folder_, split::train);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), errc::not_found);
  EXPECT_THAT(result.error().message(), HasSubstr("apt-get install dataset-fashion-mnist"));
  EXPECT_THAT(result.error().message(), HasSubstr(folder_));
  EXPECT_THAT(result.error().message(), HasSubstr("--data"));
}

TEST_F(idx_test, refuses_data_that_is_short_or_long) {
  const auto head = header(0x801, {4});
  for (const std::string body : {"abc", "abcde", ""}) {
    const auto result = read_idx(write("bad", head + body), 1);
    ASSERT_FALSE(result) << body;
    EXPECT_EQ(result.error().code(), errc::corrupt) << body;
  }
  EXPECT_THAT(read_idx(write("bad", head + "abc"), 1).error().message(),
              HasSubstr("truncated: 1 of 4"));
}

TEST_F(idx_test, refuses_a_cut_header) {
  for (std::size_t length : {0U, 3U, 7U}) {
    const auto result = read_idx(write("bad", header(0x801, {4}).substr(0, length)), 1);
    ASSERT_FALSE(result) << length;
    EXPECT_EQ(result.error().code(), errc::corrupt) << length;
  }
}

TEST_F(idx_test, refuses_a_cut_or_damaged_gzip_stream) {
  std::string body;
  for (int i = 0; i < 5000; ++i) body.push_back(static_cast<char>(i * i / 7));
  const auto file = write("bad", header(0x801, {5000}) + body);
  ASSERT_TRUE(read_idx(file, 1));
  const auto size = std::filesystem::file_size(file);

  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(size) - 6)
      .put('?');  // in the checksum
  ASSERT_FALSE(read_idx(file, 1));
  EXPECT_EQ(read_idx(file, 1).error().code(), errc::corrupt);

  std::filesystem::resize_file(file, size / 2);
  ASSERT_FALSE(read_idx(file, 1));
  EXPECT_EQ(read_idx(file, 1).error().code(), errc::corrupt);
}

TEST_F(idx_test, refuses_wrong_magic_and_implausible_sizes) {
  EXPECT_EQ(read_idx(write("a", header(0x803, {1}) + "x"), 1).error().code(), errc::corrupt);
  EXPECT_EQ(read_idx(write("b", header(0xd01, {1}) + "x"), 1).error().code(), errc::corrupt);
  EXPECT_EQ(read_idx(write("c", header(0x801, {0})), 1).error().code(), errc::corrupt);
  const std::uint32_t huge = 0xffffffff;
  const auto result = read_idx(write("d", header(0x803, {huge, huge, huge})), 3);
  EXPECT_THAT(result.error().message(), HasSubstr("implausible"));
}

TEST_F(idx_test, reads_a_split) {
  write_split("train", 3, std::string("\0\x09\x01", 3));
  const auto result = read_split(folder_, split::train);
  ASSERT_TRUE(result) << result.error().to_string();
  EXPECT_EQ(result->count, 3U);
  EXPECT_EQ(result->pixels, 2U);
  EXPECT_EQ(result->images.size(), 6U);
  EXPECT_THAT(result->labels, ElementsAre(0, 9, 1));
}

TEST_F(idx_test, refuses_labels_that_do_not_fit) {
  write_split("train", 3, std::string("\0\1", 2));
  EXPECT_THAT(read_split(folder_, split::train).error().message(),
              HasSubstr("3 images but 2 labels"));
  write_split("t10k", 2, std::string("\0\x0a", 2));
  EXPECT_THAT(read_split(folder_, split::test).error().message(), HasSubstr("label 10"));
}

}  // namespace
}  // namespace tidegate::examples
