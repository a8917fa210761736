#include "runtime/batches/row_changes.hpp"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/runtime/batches/batch_memory.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::uint32_t dim = 3;

// An answer to a request of so many rows, of which these have changed.
batch_memory answer_of(std::uint32_t rows, const std::vector<std::uint32_t>& changed) {
  const auto count = static_cast<std::uint32_t>(changed.size());
  batch_memory memory(row_changes_bytes(rows, count, dim));
  const auto room = begin_row_changes(
      memory.bytes(), {.rows = rows, .changed = count, .mark = {.history = 9, .clock = 4}},
      dim);
  for (const auto row : changed) room.bits[row / 64] |= std::uint64_t{1} << (row % 64);
  std::iota(room.values.begin(), room.values.end(), 1.0F);
  return memory;
}

TEST(row_changes, come_back) {
  for (const auto& [rows, changed] :
       std::vector<std::pair<std::uint32_t, std::vector<std::uint32_t>>>{
           {0, {}}, {1, {}}, {1, {0}}, {64, {0, 63}}, {65, {64}}, {200, {1, 64, 127, 199}}}) {
    auto memory = answer_of(rows, changed);
    const auto answer = read_row_changes(memory.bytes(), rows, dim);
    ASSERT_TRUE(answer) << answer.error().message();
    EXPECT_EQ(answer->mark, (row_mark{.history = 9, .clock = 4}));
    std::vector<std::uint32_t> said;
    for (std::uint32_t row = 0; row < rows; ++row)
      if (answer->has(row)) said.push_back(row);
    EXPECT_EQ(said, changed);
    ASSERT_EQ(answer->values.size(), changed.size() * dim);
    for (std::size_t i = 0; i < answer->values.size(); ++i)
      EXPECT_EQ(answer->values[i], static_cast<float>(i + 1));
  }
}

TEST(row_changes, an_answer_that_is_none_is_refused) {
  auto memory = answer_of(70, {3, 69});
  EXPECT_EQ(read_row_changes(memory.bytes(), 71, dim).error().code(), errc::corrupt);
  EXPECT_FALSE(read_row_changes(memory.bytes(), 70, dim + 20));
  EXPECT_FALSE(read_row_changes(memory.bytes().first(64), 70, dim));
  EXPECT_FALSE(read_row_changes({}, 0, dim));
  const auto bits = memory.bytes().subspan(row_batch_alignment);
  bits[0] = std::byte{0};  // of row 3
  EXPECT_FALSE(read_row_changes(memory.bytes(), 70, dim)) << "one row has no bit";
  bits[8] = std::byte{0x60};  // of row 70, which was not asked for, and of row 69
  EXPECT_FALSE(read_row_changes(memory.bytes(), 70, dim));
}

TEST(row_changes, damaged_bytes_do_no_harm) {
  rng random(11);
  for (int i = 0; i < 20'000; ++i) {
    auto memory = answer_of(130, {0, 5, 64, 129});
    const auto bytes = memory.bytes();
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    const auto answer = read_row_changes(bytes, 130, dim);
    if (!answer) continue;
    std::size_t changed = 0;
    for (std::size_t row = 0; row < 130; ++row) changed += answer->has(row) ? 1 : 0;
    EXPECT_EQ(answer->values.size(), changed * dim);
  }
}

}  // namespace
}  // namespace tidegate::runtime
