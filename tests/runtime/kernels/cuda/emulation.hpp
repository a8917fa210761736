// The kernels of runtime/kernels/cuda on the CPU: the body of each, thread by thread and block
// by block, with the plans, tiles and types that a launch would choose.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/kernels/cuda/tile.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::tests {

// Does in `arrays` what a launch does; without constants the sum alone.
void emulate(std::span<const runtime::kernels::gradient> inputs,
             const runtime::kernels::cuda::step_constants* constants,
             const runtime::kernels::chunk_arrays& arrays,
             runtime::kernels::gaps where = runtime::kernels::gaps::none);

// Returns the index that queue_find_not_finite() leaves; UINT64_MAX if all numbers are finite.
std::uint64_t emulate_find(std::span<const float> numbers);

}  // namespace tidegate::tests
