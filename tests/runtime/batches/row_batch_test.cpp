#include "runtime/batches/row_batch.hpp"

#include <algorithm>
#include <cstring>

#include <gmock/gmock.h>

#include "tests/runtime/batches/batch_memory.hpp"

namespace tidegate::runtime {
namespace {

using testing::HasSubstr;

batch_memory three_rows() {
  batch_memory memory(row_batch_bytes(3, 2));
  std::fill(memory.bytes().begin(), memory.bytes().end(), std::byte{0xff});
  const auto room = begin_row_batch(memory.bytes(), 3, 2);
  std::copy_n(std::vector<std::uint64_t>{1, 5, 9}.begin(), 3, room.ids.begin());
  std::copy_n(std::vector<float>{1, 2, 3, 4, 5, 6}.begin(), 6, room.values.begin());
  return memory;
}

void put(batch_memory& memory, std::size_t at, std::uint32_t number) {
  std::memcpy(memory.bytes().data() + at, &number, sizeof number);
}

std::string refusal(batch_memory& memory, std::uint32_t dim = 2) {
  const auto read = read_row_batch(memory.bytes(), dim);
  EXPECT_FALSE(read);
  if (read) return {};
  EXPECT_EQ(read.error().code(), errc::corrupt);
  return read.error().message();
}

TEST(row_batch, is_read_as_it_was_written) {
  auto memory = three_rows();
  const auto batch = read_row_batch(memory.bytes(), 2);
  ASSERT_TRUE(batch) << batch.error().message();
  EXPECT_EQ(batch->ids[2], 9U);
  EXPECT_EQ(batch->row(1)[0], 3.0F);
  EXPECT_EQ(batch->row(2)[1], 6.0F);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch->values.data()) % row_batch_alignment, 0U);
}

TEST(row_batch, of_the_same_rows_has_the_same_bytes) {
  auto memory = three_rows();
  std::size_t unwritten = 0;
  for (const auto byte : memory.bytes()) unwritten += byte == std::byte{0xff} ? 1 : 0;
  EXPECT_EQ(unwritten, 0U) << "what lies between is zero";
}

TEST(row_batch, may_have_no_rows) {
  batch_memory memory(row_batch_bytes(0, 7));
  begin_row_batch(memory.bytes(), 0, 7);
  const auto batch = read_row_batch(memory.bytes(), 7);
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->ids.empty());
}

TEST(row_batch, that_is_wrong_is_refused) {
  auto memory = three_rows();
  EXPECT_THAT(refusal(memory, 3), HasSubstr("rows of 2 values; the table has rows of 3"));
  put(memory, 0, 4);  // rows
  EXPECT_THAT(refusal(memory), HasSubstr("ids that do not ascend")) << "the fourth is zero";
  put(memory, 0, 9);
  EXPECT_THAT(refusal(memory), HasSubstr("has 9 rows and ends before them"));
  put(memory, 0, 0xffff'ffff);
  EXPECT_THAT(refusal(memory), HasSubstr("ends before them"));
  put(memory, 0, 3);
  put(memory, 64 + 8, 9);
  EXPECT_THAT(refusal(memory), HasSubstr("ids that do not ascend"));
  put(memory, 64 + 8, 1);
  EXPECT_THAT(refusal(memory), HasSubstr("ids that do not ascend"));
  EXPECT_FALSE(read_row_batch(memory.bytes().first(63), 2));
  EXPECT_FALSE(read_row_batch(memory.bytes().subspan(8), 2)) << "not aligned";
  EXPECT_FALSE(read_row_batch({}, 2));
}

}  // namespace
}  // namespace tidegate::runtime
