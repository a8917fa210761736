// The answer to a request of changes (row_request.hpp): which of the rows asked for have
// changed since a mark, or may have, and their values. The others are as they were at the mark.
//
//   header   64 bytes: row_changes_header, zeros
//   bits     one for each row asked for, in words of 64; 1: its value follows; zeros to the
//   next
//            multiple of 64 bytes
//   values   of the rows with a 1, `dim` float32 of each, in their order; zeros likewise
//
// Numbers are little-endian, memory is aligned to 64 bytes. Plain views of the caller's memory,
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.hpp"
#include "runtime/batches/row_batch.hpp"

namespace tidegate::runtime {

// A state of the rows of a part, which its owner can tell from later ones.
struct row_mark {
  // Drawn by the owner when it begins, or begins anew with rows from elsewhere; 0: no mark.
  std::uint64_t history = 0;
  std::uint64_t clock = 0;  // the latest of the steps made until then

  friend bool operator==(const row_mark&, const row_mark&) = default;
};

struct row_changes_header {
  std::uint32_t rows = 0;     // asked for
  std::uint32_t changed = 0;  // rows that follow
  row_mark mark;              // of the rows that this is of
};

struct row_changes {
  row_mark mark;
  std::span<const std::uint64_t> bits;
  std::span<const float> values;

  bool has(std::size_t row) const { return (bits[row / 64] >> (row % 64) & 1) != 0; }
};

constexpr std::uint64_t row_changes_words(std::uint64_t rows) noexcept {
  return (rows + 63) / 64;
}
// Returns where the values of such an answer begin.
constexpr std::uint64_t row_changes_values(std::uint64_t rows) noexcept {
  return row_batch_alignment +
         aligned_as_batch(row_changes_words(rows) * sizeof(std::uint64_t));
}
// Returns the bytes of an answer of less than 2^32 rows, of which so many have changed.
constexpr std::uint64_t row_changes_bytes(std::uint64_t rows, std::uint64_t changed,
                                          std::uint32_t dim) noexcept {
  return row_changes_values(rows) + aligned_as_batch(changed * dim * sizeof(float));
}

// Where an answer is written.
struct row_changes_room {
  std::span<std::uint64_t> bits;  // all 0
  std::span<float> values;        // of `changed` rows
};

// Writes the header of an answer, and the zeros between its parts. The caller sets bits, as
// many as rows have changed, and writes values. `memory`: row_changes_bytes(rows, changed, dim)
// bytes, aligned (asserted).
row_changes_room begin_row_changes(std::span<std::byte> memory,
                                   const row_changes_header& header, std::uint32_t dim);

// Returns the answer that `memory` holds, to a request of so many rows, which somebody else has
// written. Errors: corrupt (of other rows, of another size, or its bits are not as many).
expected<row_changes> read_row_changes(std::span<const std::byte> memory, std::uint32_t rows,
                                       std::uint32_t dim);

}  // namespace tidegate::runtime
