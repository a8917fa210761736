// Rows that one kernel goes over, as a GPU finds them: addresses in its own memory, or in
// memory of the host that it works on directly. Plain values.
#pragma once

#include <cstdint>

#include "runtime/optimizers/optimizer.hpp"
#include "runtime/optimizers/row_formulas.hpp"

namespace tidegate::runtime::kernels {

// What a step of a row reads and writes.
struct row_addresses {
  float* values = nullptr;
  float* state = nullptr;  // null where the optimizer has none
  const float* gradient = nullptr;
};

// The columns of each row that a step goes over: a segment of it.
struct row_columns {
  std::uint32_t first = 0;    // in the values and the gradient
  std::uint32_t columns = 0;  // >= 1
  std::uint32_t state = 0;    // where their state begins in that of the row
};

// Floats that are copied from one place to another. Null: they become 0.
struct row_copy {
  float* to = nullptr;
  const float* from = nullptr;
};

// What a step of rows needs, worked out once for all of them.
struct row_constants {
  optimizer_options options;
  step_rates<float> rates;
  float scale = 1;
  row_numbers row;
};

}  // namespace tidegate::runtime::kernels
