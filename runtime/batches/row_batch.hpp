// The rows of a table that a worker pushes to one part of it, or that are summed on the way:
// ids and values as they lie in shared memory and travel in frames. The same bytes in both
// places.
//
//   header   64 bytes: row_batch_header, zeros
//   ids      `rows` of 64 bits, ascending, each once; zeros to the next multiple of 64 bytes
//   values   `rows` times `dim` float32, in the order of the ids; zeros likewise
//
// Numbers are little-endian, memory is aligned to 64 bytes. Plain views of the caller's memory,
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/limits.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct row_batch_header {
  std::uint32_t rows = 0;
  std::uint32_t dim = 0;  // values of a row
};

// A batch in the caller's memory.
struct row_batch {
  std::span<const std::uint64_t> ids;
  std::span<const float> values;  // ids.size() * dim
  std::uint32_t dim = 0;

  std::span<const float> row(std::size_t i) const { return values.subspan(i * dim, dim); }
};

inline constexpr std::uint64_t row_batch_alignment = 64;
inline bool is_aligned_as_batch(const void* memory) noexcept {
  return reinterpret_cast<std::uintptr_t>(memory) % row_batch_alignment == 0;
}
constexpr std::uint64_t aligned_as_batch(std::uint64_t bytes) noexcept {
  return (bytes + row_batch_alignment - 1) / row_batch_alignment * row_batch_alignment;
}
// Returns where the values of a batch begin.
constexpr std::uint64_t row_batch_values(std::uint64_t rows) noexcept {
  return row_batch_alignment + aligned_as_batch(rows * sizeof(std::uint64_t));
}
// Returns the bytes of a batch of less than 2^32 rows. `dim`: 1 to limits::row_dim_max.
constexpr std::uint64_t row_batch_bytes(std::uint64_t rows, std::uint32_t dim) noexcept {
  return row_batch_values(rows) + aligned_as_batch(rows * dim * sizeof(float));
}

// Where a batch is written.
struct row_batch_room {
  std::span<std::uint64_t> ids;
  std::span<float> values;
};

// Writes the header of a batch of so many rows, and the zeros between its parts. The caller
// writes ids and values. `memory`: row_batch_bytes(rows, dim) bytes, aligned (asserted).
row_batch_room begin_row_batch(std::span<std::byte> memory, std::uint32_t rows,
                               std::uint32_t dim);

// Returns true if each id is above the one before it.
bool ids_ascend(std::span<const std::uint64_t> ids) noexcept;

// Returns the batch that lies at the begin of `memory`, which somebody else has written.
// Errors: corrupt (it ends beyond the memory, its rows are of another width, ids do not
// ascend).
expected<row_batch> read_row_batch(std::span<const std::byte> memory, std::uint32_t dim);
// Returns it without a look at its ids. `memory`: as read_row_batch() has accepted it, and
// nobody has changed it since.
row_batch checked_row_batch(std::span<const std::byte> memory, std::uint32_t dim);

}  // namespace tidegate::runtime
