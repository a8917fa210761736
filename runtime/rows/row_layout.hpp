// Where the parts of a table of rows lie in its memory: a header, the index, and an array each
// of values, optimizer state, ids and uses, by row number. Values have an array of their own,
// so that a gather touches nothing else; but where they lie in a file (row_file.hpp), the state
// of a row lies beside its values. All offsets follow from the shape, so that a shape and the
// name of a segment are all that a reader needs. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/limits.hpp"
#include "runtime/base/status.hpp"
#include "runtime/rows/index_layout.hpp"

namespace tidegate::runtime {

struct row_shape {
  std::uint64_t capacity = 0;      // rows at most, 1 to limits::part_rows_max
  std::uint32_t dim = 0;           // float32 values of a row, 1 to limits::row_dim_max
  std::uint32_t state_floats = 0;  // of a row, at most 2 * limits::row_dim_max

  friend bool operator==(const row_shape&, const row_shape&) = default;
};

// How a row was used.
struct row_use {
  std::uint64_t clock = 0;   // of the table, with the last push
  std::uint64_t pushes = 0;  // since the row was made

  friend bool operator==(const row_use&, const row_use&) = default;
};

struct row_layout {
  row_shape shape;
  index_layout index;
  std::size_t value_stride = 0;  // floats from a row to the next
  std::size_t state_stride = 0;
  // Bytes from the begin of the memory; the header is there. Arrays begin on huge pages.
  std::uint64_t index_begin = 0;
  std::uint64_t values = 0;
  std::uint64_t states = 0;
  std::uint64_t ids = 0;
  std::uint64_t uses = 0;
  std::uint64_t bytes = 0;
};

// Where values and states lie: in the memory of the table, or in a file that is mapped over all
// of [row_layout::values, row_layout::ids) of it, or with an engine (row_engine.hpp), and then
// they take nothing here.
enum class rows_lie_in : std::uint8_t { memory, file, engine };

// Errors: invalid_argument (a number that is out of its range; the message says which).
expected<row_layout> row_layout_for(const row_shape& shape,
                                    rows_lie_in where = rows_lie_in::memory);

// Floats from a row of so many to the next: whole cache lines; a row that is shorter than a
// line has a power of two, so that it never lies in two of them.
std::size_t row_stride(std::size_t floats) noexcept;

}  // namespace tidegate::runtime
