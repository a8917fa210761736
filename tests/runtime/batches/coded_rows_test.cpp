#include "runtime/batches/coded_rows.hpp"

#include <algorithm>
#include <cstring>
#include <malloc.h>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "tests/runtime/batches/batch_memory.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime {
namespace {

constexpr std::uint64_t names = 17;  // their key

// A batch with room before it for the other form of its ids.
struct batch_in_room {
  static constexpr std::uint32_t dim = 3;

  explicit batch_in_room(const std::vector<std::uint64_t>& ids)
      : batch_in_room(ids, static_cast<std::uint32_t>(ids.size())) {}
  batch_in_room(const std::vector<std::uint64_t>& ids, std::uint32_t rows)
      : memory(batch_front_bytes_max(rows) + row_values_bytes(rows, dim)),
        batch(memory.bytes().last(row_batch_bytes(rows, dim))) {
    const auto room = begin_row_batch(batch, rows, dim);
    std::copy(ids.begin(), ids.end(), room.ids.begin());
    for (std::size_t i = 0; i < room.values.size(); ++i)
      room.values[i] = static_cast<float>(i) + 0.5F;
    values = room.values;
  }

  batch_memory memory;
  std::span<std::byte> batch;
  std::span<float> values;
};

std::vector<std::uint64_t> multiples(std::uint64_t factor, std::size_t count) {
  std::vector<std::uint64_t> ids(count);
  for (std::size_t i = 0; i < count; ++i) ids[i] = factor * (i + 1);
  return ids;
}

// Of a request of a line that claims to have a million ids.
TEST(coded_rows, a_code_that_is_too_short_makes_no_room_for_its_ids) {
  constexpr std::uint32_t claimed = 1'000'000;
  const std::vector<std::uint64_t> code(id_code_bytes_min(claimed) / sizeof(std::uint64_t) - 1);
  id_coder coder;
  const auto large_before = ::mallinfo2().hblkhd;
  EXPECT_FALSE(coder.decode(std::as_bytes(std::span(code)).first(64), claimed));
  EXPECT_FALSE(coder.decode(std::as_bytes(std::span(code)), claimed));
  EXPECT_EQ(::mallinfo2().hblkhd, large_before);
}

TEST(coded_rows, a_batch_keeps_its_ids_and_its_values_where_they_are) {
  for (const std::size_t rows : {1, 2, 8, 9, 100, 5000}) {
    const auto ids = multiples(1000, rows);
    batch_in_room in_room(ids);
    const std::vector<float> before(in_room.values.begin(), in_room.values.end());
    id_coder coder;
    const auto coded =
        coder.encode_batch(in_room.memory.bytes(), in_room.batch, names).with_list;
    const auto read = read_coded_batch(coded, batch_in_room::dim);
    ASSERT_TRUE(read) << read.error().message();
    EXPECT_EQ(coded.data() + read->values_at,
              reinterpret_cast<std::byte*>(in_room.values.data()));
    EXPECT_TRUE(std::equal(before.begin(), before.end(), in_room.values.begin()));
    const auto decoded = coder.decode(read->list.code, read->list.ids);
    ASSERT_TRUE(decoded);
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), decoded->begin(), decoded->end()));
    if (rows >= 100) {
      EXPECT_LT(coded.size(), in_room.batch.size() - rows * 5 + 64);
    }
  }
}

TEST(coded_rows, ids_that_lie_far_apart_have_room) {
  rng random(1);
  for (std::size_t rows = 1; rows < 200; ++rows) {
    std::vector<std::uint64_t> ids(rows);
    for (auto& id : ids) id = random.below(~std::uint64_t{0});
    std::sort(ids.begin(), ids.end());
    batch_in_room in_room(ids);
    id_coder coder;
    const auto coded =
        coder.encode_batch(in_room.memory.bytes(), in_room.batch, names).with_list;
    EXPECT_TRUE(read_coded_batch(coded, batch_in_room::dim));
  }
}

TEST(coded_rows, a_request_comes_back) {
  const auto ids = multiples(7, 300);
  batch_memory plain(gather_request_bytes(ids.size()));
  const auto room = begin_gather(plain.bytes(), 300);
  std::copy(ids.begin(), ids.end(), room.begin());
  batch_memory into(coded_request_bytes_max(ids.size()));
  const auto coded = id_coder::encode_request(plain.bytes(), into.bytes(), names).with_list;
  EXPECT_LT(coded.size(), plain.bytes().size() / 8);
  ask_changes(coded, {.history = 3, .clock = 4});
  const auto read = read_coded_request(coded);
  ASSERT_TRUE(read) << read.error().message();
  id_coder coder;
  const auto decoded = coder.decode(read->list.code, read->list.ids);
  ASSERT_TRUE(decoded);
  batch_memory back(gather_request_bytes(ids.size()));
  write_request(read->header, *decoded, back.bytes());
  const auto request = read_row_request(back.bytes());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->kind, row_request_kind::changes);
  EXPECT_EQ(request->since, (row_mark{.history = 3, .clock = 4}));
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), request->ids.begin(), request->ids.end()));
}

// Both may be on their way at once.
TEST(coded_rows, a_batch_with_the_name_of_its_list_lies_in_the_one_with_the_list) {
  const auto ids = multiples(1000, 70);
  batch_in_room in_room(ids);
  id_coder coder;
  const auto forms = coder.encode_batch(in_room.memory.bytes(), in_room.batch, names);
  EXPECT_EQ(forms.with_name.data() + forms.with_name.size(),
            forms.with_list.data() + forms.with_list.size());
  EXPECT_EQ(forms.with_name.size(), 64 + row_values_bytes(70, batch_in_room::dim));
  EXPECT_EQ(forms.name, name_list(ids, names));
  const auto named = read_coded_batch(forms.with_name, batch_in_room::dim);
  const auto listed = read_coded_batch(forms.with_list, batch_in_room::dim);
  ASSERT_TRUE(named && listed);
  EXPECT_TRUE(named->list.is_named());
  EXPECT_FALSE(listed->list.is_named());
  for (const auto& read : {*named, *listed}) {
    EXPECT_EQ(read.list.ids, 70U);
    EXPECT_EQ(read.list.name, forms.name);
  }
  EXPECT_EQ(forms.with_name.data() + named->values_at,
            reinterpret_cast<std::byte*>(in_room.values.data()));
  EXPECT_EQ(forms.with_list.data() + listed->values_at,
            reinterpret_cast<std::byte*>(in_room.values.data()));
}

TEST(coded_rows, a_request_with_the_name_of_its_list_is_a_line) {
  const auto ids = multiples(7, 300);
  batch_memory plain(gather_request_bytes(ids.size()));
  const auto room = begin_gather(plain.bytes(), 300);
  std::copy(ids.begin(), ids.end(), room.begin());
  batch_memory into(coded_request_bytes_max(ids.size()));
  const auto forms = id_coder::encode_request(plain.bytes(), into.bytes(), names);
  ASSERT_EQ(forms.with_name.size(), 64U);
  ask_changes(forms.with_name, {.history = 3, .clock = 4});
  const auto read = read_coded_request(forms.with_name);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_TRUE(read->list.is_named());
  EXPECT_EQ(read->list.ids, 300U);
  EXPECT_EQ(read->list.name, name_list(ids, names));
  EXPECT_EQ(read->header.kind, row_request_kind::changes);
  EXPECT_FALSE(read_coded_request(forms.with_list)->list.is_named());
}

TEST(coded_rows, of_another_size_or_width_are_refused) {
  batch_in_room in_room(multiples(9, 50));
  id_coder coder;
  const auto coded = coder.encode_batch(in_room.memory.bytes(), in_room.batch, names).with_list;
  EXPECT_EQ(read_coded_batch(coded, batch_in_room::dim + 1).error().code(), errc::corrupt);
  EXPECT_FALSE(read_coded_batch(coded.first(coded.size() - 64), batch_in_room::dim));
  EXPECT_FALSE(read_coded_batch(coded.first(64), batch_in_room::dim));
  EXPECT_FALSE(read_coded_batch({}, batch_in_room::dim));
  EXPECT_FALSE(read_coded_request({}));
  batch_memory scan(scan_request_bytes);
  write_scan(scan.bytes(), 7, std::nullopt);
  EXPECT_EQ(read_coded_request(scan.bytes()).error().code(), errc::corrupt);
}

TEST(coded_rows, damaged_bytes_do_no_harm) {
  rng random(6);
  batch_in_room in_room(multiples(9, 50));
  id_coder coder;
  const auto whole = coder.encode_batch(in_room.memory.bytes(), in_room.batch, names).with_list;
  for (int i = 0; i < 20'000; ++i) {
    batch_memory memory(whole.size());
    const auto bytes = memory.bytes();
    std::copy(whole.begin(), whole.end(), bytes.begin());
    for (auto n = 1 + random.below(4); n > 0; --n)
      bytes[random.below(i % 2 == 0 ? 16 : 150)] = static_cast<std::byte>(random.below(256));
    const auto read = read_coded_batch(bytes, batch_in_room::dim);
    if (!read) continue;
    if (const auto ids = coder.decode(read->list.code, read->list.ids)) {
      EXPECT_TRUE(ids_ascend(*ids));
    }
  }
}

TEST(coded_rows, allocate_nothing_once_warm) {
  id_coder coder;
  batch_in_room first(multiples(9, 500)), second(multiples(11, 400));
  coder.encode_batch(first.memory.bytes(), first.batch, names);
  const auto before = tests::allocations();
  const auto coded = coder.encode_batch(second.memory.bytes(), second.batch, names).with_list;
  const auto read = read_coded_batch(coded, batch_in_room::dim);
  const bool comes_back = read && coder.decode(read->list.code, read->list.ids);
  EXPECT_EQ(tests::allocations(), before);
  EXPECT_TRUE(comes_back);
}

}  // namespace
}  // namespace tidegate::runtime
