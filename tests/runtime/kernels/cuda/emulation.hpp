// The kernels of runtime/kernels/cuda on the CPU: the body of each, thread by thread and block
// by block, with the plans, tiles and types that a launch would choose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/cuda/tile.hpp"
#include "runtime/kernels/row_launch.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::tests {

// Does in `arrays` what a launch does; without constants the sum alone.
void emulate(std::span<const runtime::kernels::gradient> inputs,
             const runtime::kernels::cuda::step_constants* constants,
             const runtime::kernels::chunk_arrays& arrays,
             runtime::kernels::gaps where = runtime::kernels::gaps::none);

// Returns the index that queue_find_not_finite() leaves; UINT64_MAX if all numbers are finite.
std::uint64_t emulate_find(std::span<const float> numbers);

// Does what queue_row_step() and queue_row_copy() do.
void emulate_row_step(const runtime::kernels::row_constants& constants,
                      const runtime::kernels::row_columns& columns,
                      std::span<const runtime::kernels::row_addresses> rows);
void emulate_row_copy(std::span<const runtime::kernels::row_copy> rows, std::size_t floats,
                      bool is_aligned);

}  // namespace tidegate::tests
