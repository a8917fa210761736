// One optimizer step of one row, an element at a time: the reference of what vectors
// (runtime/rows) and GPUs (runtime/kernels/cuda) do, and how an emulated device steps. The
// formulas are in runtime/optimizers. Pure functions over the caller's memory, any thread.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/kernels/row_optimizer.hpp"

namespace tidegate::runtime {

// One step of a row by the rule of a plugin. `w` and `g` have `dim` elements, at most
// limits::row_dim_max; state of the row as state_floats() says.
void step_row_by_plugin(const row_coefficients& c, const float* g, float* w, float* state,
                        std::size_t dim);

// One step of a row: `w` and `g` have as many elements, and `state` what state_floats() says.
void step_row(const row_coefficients& c, std::span<const float> g, std::span<float> w,
              std::span<float> state);

}  // namespace tidegate::runtime
