// The loops over rows of a batch: internal to this folder, and what a benchmark runs over
// memory without an index, as the roofline of a table. They ask for the rows ahead of the one
// that they are at, and run the widest version that the machine has. Pure functions over the
// caller's memory, any thread. No allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/rows/index_layout.hpp"

namespace tidegate::runtime::rows {

// Rows of `dim` floats, `stride` floats from one to the next.
struct float_rows {
  const float* data = nullptr;
  std::size_t stride = 0;
  std::size_t dim = 0;
};

// out[i * dim, (i + 1) * dim) = the row rows[i], but for no_row, where `out` stays as it is.
void copy_rows(const float_rows& from, std::span<const row_number> rows, float* out);

}  // namespace tidegate::runtime::rows
