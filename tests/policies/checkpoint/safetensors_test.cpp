// safetensors headers: what is written reads back, and what a hostile file says is refused.
#include "policies/checkpoint/safetensors.hpp"

#include <cstring>

#include <gmock/gmock.h>

#include "runtime/base/rng.hpp"

namespace tidegate::policies {
namespace {

using runtime::errc;
using testing::HasSubstr;

std::string json_of(const std::string& file) {
  return file.substr(safetensors_head_bytes);
}

TEST(safetensors, what_is_written_reads_back) {
  const safetensors_header header{
      {{"a", "1"}, {"\"\n\\", "\xc3\xa9"}},
      {{"second", {2, 3}}, {"first", {}}, {"none", {0, 5}}, {"third", {4}}}};
  const auto file = encode_safetensors(header);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->size() % 64, 0U);
  std::uint64_t size = 0;
  std::memcpy(&size, file->data(), 8);
  EXPECT_EQ(size, file->size() - 8);
  const auto read = decode_safetensors(json_of(*file), file->size() + 44);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->metadata, header.metadata);
  const auto at = file->size();
  EXPECT_THAT(read->tensors,
              testing::ElementsAre(safetensors_tensor{"second", {2, 3}, at, 24},
                                   safetensors_tensor{"first", {}, at + 24, 4},
                                   safetensors_tensor{"none", {0, 5}, at + 28, 0},
                                   safetensors_tensor{"third", {4}, at + 28, 16}));
}

TEST(safetensors, a_file_of_the_reference_implementation_reads) {
  // As Python's safetensors 0.4 writes {"w": zeros(2, 2), "b": ones(1)}.
  const std::string text = R"({"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                           R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]}} )";
  const auto read = decode_safetensors(text, 8 + text.size() + 20);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->tensors[1].offset, 8 + text.size() + 4);
}

struct hostile {
  const char* text;
  const char* why;
  std::uint64_t data_bytes = 8;
};

TEST(safetensors, what_a_hostile_header_says_is_refused) {
  const std::string deep(100'000, '[');
  const std::vector<hostile> all{
      {"", "no JSON object"},
      {"[]", "no JSON object"},
      {R"({"a":)", "no JSON object"},
      {R"({} {})", "no JSON object"},
      {R"({"a":1})", "no JSON object"},
      {R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "'dtype' is missing"},
      {R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", "of type 'F64'"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", "shape"},
      {R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", "shape"},
      {R"({"a":{"dtype":"F32","shape":{},"data_offsets":[0,8]}})", "'shape' is no array"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,12]}})", "not in the file"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", "size of its shape"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", "not in the file"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", "size of its shape"},
      // 2^62 x 4 and (2^32)^2 x 4 are 0 in 64 bits
      {.text = R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})",
       .why = "shape",
       .data_bytes = 0},
      {.text = R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})",
       .why = "shape",
       .data_bytes = 0},
      {.text = R"({"a":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,0]}})",
       .why = "shape",
       .data_bytes = 0},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", "hole"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "belong to no tensor"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},
           "b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "another's data"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
           "a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "'a' twice"},
      {.text = R"({"__metadata__":{"x":1}})", .why = "'x' is no text", .data_bytes = 0},
      {.text = R"({"__metadata__":[]})", .why = "no object", .data_bytes = 0},
      {R"({"a":{"b":{"c":{"d":{"e":1}}}}})", "deeper"},
      {R"({"\xff":{}})", "no JSON object"},
      {deep.c_str(), "deeper"},
  };
  for (const auto& one : all) {
    const std::string text = one.text;
    const auto read = decode_safetensors(text, 8 + text.size() + one.data_bytes);
    ASSERT_FALSE(read) << text.substr(0, 200);
    EXPECT_THAT(read.error().message(), HasSubstr(one.why)) << text.substr(0, 200);
  }
}

TEST(safetensors, a_header_is_as_long_as_its_file_allows) {
  const auto size_of = [](std::uint64_t claimed, std::uint64_t file_bytes) {
    std::array<std::byte, 8> head{};
    std::memcpy(head.data(), &claimed, 8);
    return safetensors_header_bytes(head, file_bytes);
  };
  EXPECT_EQ(*size_of(2, 10), 2U);
  EXPECT_FALSE(size_of(3, 10));
  EXPECT_FALSE(size_of(~0ULL, 10));
  EXPECT_FALSE(size_of(0, 7));
  EXPECT_EQ(*size_of(safetensors_header_bytes_max, 1ULL << 40), safetensors_header_bytes_max);
  EXPECT_FALSE(size_of(safetensors_header_bytes_max + 1, 1ULL << 40));
  EXPECT_FALSE(decode_safetensors("{}", 9));
}

TEST(safetensors, what_cannot_be_written_is_told) {
  EXPECT_EQ(encode_safetensors({{}, {{"a", {1}}, {"a", {1}}}}).error().code(),
            errc::invalid_argument);
  EXPECT_EQ(encode_safetensors({{}, {{"__metadata__", {1}}}}).error().code(),
            errc::invalid_argument);
  EXPECT_EQ(encode_safetensors({{}, {{"\xff", {1}}}}).error().code(), errc::invalid_argument);
  EXPECT_EQ(encode_safetensors({{}, {{"a", {~0ULL, 2}}}}).error().code(),
            errc::invalid_argument);
  EXPECT_EQ(encode_safetensors({{{"a", std::string(safetensors_header_bytes_max, 'x')}}, {}})
                .error()
                .code(),
            errc::over_limit);
}

// Bytes that change: nothing crashes, and what still reads lies in the file.
TEST(safetensors, any_byte_may_change) {
  const auto file = encode_safetensors({{{"k", "v"}}, {{"a", {2}}, {"b", {3, 1}}}});
  ASSERT_TRUE(file);
  const auto text = json_of(*file);
  runtime::rng random(1);
  std::uint64_t read_anyhow = 0;
  for (int i = 0; i < 50'000; ++i) {
    auto changed = text;
    for (auto n = 1 + random.below(3); n > 0; --n)
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    const auto read = decode_safetensors(changed, file->size() + 20);
    if (!read) continue;
    ++read_anyhow;
    for (const auto& tensor : read->tensors) {
      ASSERT_LE(tensor.offset, file->size() + 20);
      ASSERT_LE(tensor.bytes, file->size() + 20 - tensor.offset);
    }
  }
  EXPECT_GT(read_anyhow, 0U);
}

}  // namespace
}  // namespace tidegate::policies
