#include "runtime/batches/row_request.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/runtime/batches/batch_memory.hpp"

namespace tidegate::runtime {
namespace {

batch_memory gather_of(const std::vector<std::uint64_t>& ids) {
  batch_memory memory(gather_request_bytes(ids.size()));
  const auto room = begin_gather(memory.bytes(), static_cast<std::uint32_t>(ids.size()));
  std::copy(ids.begin(), ids.end(), room.begin());
  return memory;
}

TEST(row_request, carries_a_call) {
  std::array<std::byte, call_payload_bytes> call;
  for (std::size_t i = 0; i < call.size(); ++i) call[i] = static_cast<std::byte>(i * 7 + 1);
  batch_memory memory(call_request_bytes);
  write_call(memory.bytes(), call);
  const auto request = read_row_request(memory.bytes());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, row_request_kind::call);
  EXPECT_TRUE(request->ids.empty());
  EXPECT_TRUE(std::equal(request->call.begin(), request->call.end(), call.begin(), call.end()));
  EXPECT_FALSE(read_row_request(memory.bytes().first(call_request_bytes - 64)));
  batch_memory longer(call_request_bytes + 64);
  std::copy_n(memory.bytes().begin(), call_request_bytes, longer.bytes().begin());
  EXPECT_EQ(read_row_request(longer.bytes()).error().code(), errc::corrupt);
}

TEST(row_request, a_gather_comes_back) {
  for (const std::vector<std::uint64_t>& ids :
       {std::vector<std::uint64_t>{}, {0}, {1, 2, ~std::uint64_t{0}}}) {
    auto memory = gather_of(ids);
    const auto request = read_row_request(memory.bytes());
    ASSERT_TRUE(request);
    EXPECT_EQ(request->kind, row_request_kind::gather);
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), request->ids.begin(), request->ids.end()));
  }
}

TEST(row_request, a_scan_comes_back) {
  batch_memory memory(scan_request_bytes);
  write_scan(memory.bytes(), 7, std::nullopt);
  EXPECT_EQ(read_row_request(memory.bytes())->after, std::nullopt);
  write_scan(memory.bytes(), 7, 0);
  const auto request = read_row_request(memory.bytes());
  EXPECT_EQ(request->kind, row_request_kind::scan);
  EXPECT_EQ(request->rows_max, 7U);
  EXPECT_EQ(request->after, 0U);
}

TEST(row_request, what_is_no_request_is_refused) {
  auto unsorted = gather_of({3, 2});
  EXPECT_EQ(read_row_request(unsorted.bytes()).error().code(), errc::corrupt);
  auto doubled = gather_of({3, 3});
  EXPECT_FALSE(read_row_request(doubled.bytes()));
  auto longer = gather_of({1, 2, 3});
  EXPECT_FALSE(read_row_request(longer.bytes().first(64)));
  EXPECT_FALSE(read_row_request({}));
  batch_memory page_of_none(scan_request_bytes);
  write_scan(page_of_none.bytes(), 0, std::nullopt);
  EXPECT_FALSE(read_row_request(page_of_none.bytes()));
}

TEST(row_request, damaged_bytes_do_no_harm) {
  rng random(5);
  for (int i = 0; i < 20'000; ++i) {
    auto memory = gather_of({1, 5, 9, 1000});
    const auto bytes = memory.bytes();
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n)
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
    if (const auto request = read_row_request(bytes);
        request && request->kind == row_request_kind::gather) {
      EXPECT_TRUE(ids_ascend(request->ids));
    }
  }
}

}  // namespace
}  // namespace tidegate::runtime
