#include "runtime/batches/row_batch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

static_assert(std::endian::native == std::endian::little, "batches are read where they lie");

status corrupt(const std::string& problem) {
  return {errc::corrupt, "a batch of rows " + problem};
}

}  // namespace

bool ids_ascend(std::span<const std::uint64_t> ids) noexcept {
  const auto descends = [](std::uint64_t a, std::uint64_t b) { return a >= b; };
  return std::adjacent_find(ids.begin(), ids.end(), descends) == ids.end();
}

row_batch_room begin_row_batch(std::span<std::byte> memory, std::uint32_t rows,
                               std::uint32_t dim) {
  TIDEGATE_ASSERT(dim > 0 && dim <= limits::row_dim_max &&
                      memory.size() == row_batch_bytes(rows, dim) &&
                      is_aligned_as_batch(memory.data()),
                  "memory for a batch of this size");
  const row_batch_header header{.rows = rows, .dim = dim};
  const auto values = row_batch_values(rows);
  std::memset(memory.data(), 0, row_batch_alignment);
  std::memcpy(memory.data(), &header, sizeof header);
  const auto zero = [&](std::uint64_t begin, std::uint64_t end) {
    std::memset(memory.data() + begin, 0, end - begin);
  };
  zero(row_batch_alignment + rows * sizeof(std::uint64_t), values);
  zero(values + std::uint64_t{rows} * dim * sizeof(float), memory.size());
  return {
      .ids = {reinterpret_cast<std::uint64_t*>(memory.data() + row_batch_alignment), rows},
      .values = {reinterpret_cast<float*>(memory.data() + values), std::size_t{rows} * dim}};
}

namespace {

// Errors: corrupt (it ends beyond the memory, its rows are of another width).
expected<row_batch> batch_at(std::span<const std::byte> memory, std::uint32_t dim) {
  TIDEGATE_ASSERT(dim > 0 && dim <= limits::row_dim_max, "a width of rows");
  if (memory.size() < row_batch_alignment || !is_aligned_as_batch(memory.data()))
    return fail(corrupt("has no header"));
  row_batch_header header;
  std::memcpy(&header, memory.data(), sizeof header);
  if (header.dim != dim)
    return fail(corrupt("has rows of " + std::to_string(header.dim) +
                        " values; the table has rows of " + std::to_string(dim)));
  if (row_batch_bytes(header.rows, dim) > memory.size())
    return fail(corrupt("has " + std::to_string(header.rows) + " rows and ends before them"));
  const row_batch batch{
      .ids = {reinterpret_cast<const std::uint64_t*>(memory.data() + row_batch_alignment),
              header.rows},
      .values = {reinterpret_cast<const float*>(memory.data() + row_batch_values(header.rows)),
                 std::size_t{header.rows} * dim},
      .dim = dim};
  return batch;
}

}  // namespace

expected<row_batch> read_row_batch(std::span<const std::byte> memory, std::uint32_t dim) {
  auto batch = batch_at(memory, dim);
  if (batch && !ids_ascend(batch->ids)) return fail(corrupt("has ids that do not ascend"));
  return batch;
}

row_batch checked_row_batch(std::span<const std::byte> memory, std::uint32_t dim) {
  const auto batch = batch_at(memory, dim);
  TIDEGATE_ASSERT(batch, "a batch that was checked");
  return *batch;
}

}  // namespace tidegate::runtime
