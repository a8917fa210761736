// One optimizer step of each row of a batch, on vectors: internal to this folder, and the
// roofline of `tidegate bench rows`. It asks for the rows ahead of the one that it is at, runs
// the widest version that the machine has, and the bits do not depend on it: they are those of
// runtime/kernels/row_step.hpp. Pure function over the caller's memory, any thread. No
// allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/row_optimizer.hpp"
#include "runtime/rows/row_layout.hpp"

namespace tidegate::runtime::rows {

// Where rows lie. Strides are floats from a row to the next.
struct row_arrays {
  float* values = nullptr;
  std::size_t value_stride = 0;
  float* states = nullptr;
  std::size_t state_stride = 0;
  row_use* uses = nullptr;  // null: nothing is noted
  std::size_t dim = 0;      // columns that are stepped, at most limits::row_dim_max
  std::size_t first = 0;    // of them, in a gradient
  // If not null, where the values of these columns before the step are written, for each row
  // of the batch.
  float* before = nullptr;
  std::size_t before_stride = 0;
};

// Steps these columns of the row rows[i] with those of the gradient that lies at gradients[i],
// one row after the other, and notes the clock and the push in its use. There is no no_row
// among `rows`.
void step_rows(const row_coefficients& c, std::uint64_t clock, const row_arrays& at,
               std::span<const row_number> rows, const float* const* gradients);

}  // namespace tidegate::runtime::rows
