// Reductions other than a sum (runtime/optimizers/reduction.hpp) of two arrays, element by
// element. The loops are vectors of the widest kind that the machine has, and the bits do not
// depend on it. Pure functions over the caller's memory, any thread. No allocation.
#pragma once

#include <cstddef>

#include "runtime/kernels/gaps.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::kernels {

// out = a and b combined; `out` may be a or b. `rule.by` is no sum (asserted). Around gaps
// where there may be some, as sums are.
void combine(const combination& rule, const float* a, const float* b, float* out,
             std::size_t n);

}  // namespace tidegate::runtime::kernels
