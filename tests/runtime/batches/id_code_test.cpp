#include "runtime/batches/id_code.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/runtime/batches/batch_memory.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

using id_list = std::vector<std::uint64_t>;
constexpr auto id_max = ~std::uint64_t{0};

// In memory of its exact size, so that a sanitizer sees what is read behind it.
std::vector<std::uint64_t> code_of(const id_list& ids) {
  batch_memory memory(id_code_bytes_max(ids.size()) + 64);
  const auto bytes = encode_ids(ids, memory.bytes());
  EXPECT_LE(bytes, id_code_bytes_max(ids.size()));
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  std::copy_n(memory.bytes().begin(), bytes, std::as_writable_bytes(std::span(words)).begin());
  return words;
}

status decode(const std::vector<std::uint64_t>& code, id_list& ids) {
  return decode_ids(std::as_bytes(std::span(code)), ids);
}

id_list random_ids(std::uint64_t seed, std::size_t count, std::uint64_t bound) {
  rng random(seed);
  std::set<std::uint64_t> ids;
  while (ids.size() < count) ids.insert(random.below(bound));
  return {ids.begin(), ids.end()};
}

void expect_back(const id_list& ids) {
  id_list decoded(ids.size());
  ASSERT_TRUE(decode(code_of(ids), decoded).ok());
  EXPECT_EQ(decoded, ids);
}

TEST(id_code, any_list_comes_back) {
  for (const id_list& ids : {id_list{}, {0}, {id_max}, {0, id_max}, {7, 8, 9}, {0, 1, id_max}})
    expect_back(ids);
  for (const std::size_t count : {2, 63, 64, 65, 66, 128, 129, 1000})
    for (unsigned bits = 12; bits <= 64; bits += 4)
      expect_back(
          random_ids(count + bits, count, bits == 64 ? id_max : std::uint64_t{1} << bits));
}

TEST(id_code, every_width_comes_back) {
  for (unsigned width = 0; width <= 57; ++width) {
    id_list ids = {5};
    for (std::uint64_t i = 0; i < 100; ++i)
      ids.push_back(ids.back() + 1 + (mix64(i) & ((std::uint64_t{1} << width) - 1)));
    expect_back(ids);
  }
}

TEST(id_code, ids_that_lie_close_take_fewer_bytes) {
  id_list ids(4096);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = 1000 + i;
  EXPECT_LE(code_of(ids).size() * sizeof(std::uint64_t), 100U);
  // One of about 600: ten bits for the mean, and a few for the largest of a block.
  const auto sparse = random_ids(1, 4096, 4096 * 600);
  EXPECT_LE(code_of(sparse).size() * sizeof(std::uint64_t), 4096U * 13 / 8);
}

TEST(id_code, ids_that_do_not_ascend_are_refused) {
  id_list ids(3);
  auto wraps = code_of({1, 2, 4});
  wraps[0] = id_max - 1;
  EXPECT_EQ(decode(wraps, ids).code(), errc::corrupt);
  auto counts_up = code_of({1, 2, 3});
  EXPECT_TRUE(decode(counts_up, ids).ok());
  counts_up[0] = id_max - 1;
  EXPECT_EQ(decode(counts_up, ids).code(), errc::corrupt);
  id_list two(2);
  auto equal = code_of({1, id_max});
  equal[2] = id_max;  // the difference, whose sum with 1 wraps to nothing
  EXPECT_EQ(decode(equal, two).code(), errc::corrupt);
}

TEST(id_code, of_another_size_is_refused) {
  const auto ids = random_ids(3, 200, 100'000);
  const auto code = code_of(ids);
  for (std::size_t words = 0; words < code.size(); ++words) {
    id_list decoded(ids.size());
    EXPECT_FALSE(
        decode({code.begin(), code.begin() + static_cast<std::ptrdiff_t>(words)}, decoded)
            .ok());
  }
  auto longer = code;
  longer.push_back(0);
  for (const std::size_t count : {0, 1, 100, 190, 264, 4096}) {
    id_list other(count);
    EXPECT_FALSE(decode(code, other).ok()) << count;
  }
  id_list decoded(ids.size());
  EXPECT_FALSE(decode(longer, decoded).ok());
}

TEST(id_code, damaged_bytes_do_no_harm) {
  rng random(5);
  const auto ids = random_ids(4, 300, 1'000'000);
  const auto whole = code_of(ids);
  for (int i = 0; i < 20'000; ++i) {
    auto code = whole;
    const auto bytes = std::as_writable_bytes(std::span(code));
    for (auto n = 1 + random.below(4); n > 0; --n)
      bytes[random.below(i % 2 == 0 ? 16 : bytes.size())] =
          static_cast<std::byte>(random.below(256));
    id_list decoded(ids.size());
    if (decode(code, decoded).ok()) {
      EXPECT_EQ(std::adjacent_find(decoded.begin(), decoded.end(), std::greater_equal<>()),
                decoded.end());
    }
  }
}

TEST(id_code, allocates_nothing) {
  const auto ids = random_ids(4, 300, 1'000'000);
  batch_memory memory(id_code_bytes_max(ids.size()));
  id_list decoded(ids.size());
  const auto before = tests::allocations();
  const auto bytes = encode_ids(ids, memory.bytes());
  const bool comes_back = decode_ids(memory.bytes().first(bytes), decoded).ok();
  EXPECT_EQ(tests::allocations(), before);
  EXPECT_TRUE(comes_back);
}

}  // namespace
}  // namespace tidegate::runtime
