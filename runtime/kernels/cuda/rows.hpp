// Steps and copies of rows on a GPU, with the bits of step_row()
// (runtime/kernels/row_step.hpp). Thread rule and errors are those of cuda/update.hpp.
#pragma once

#include <cstddef>

#include "runtime/kernels/cuda/update.hpp"
#include "runtime/kernels/row_launch.hpp"

namespace tidegate::runtime::kernels::cuda {

constexpr std::size_t row_launch_floats_max = std::size_t{1} << 31;  // of all rows together

// Queues one step of these columns of rows[0, count), which are different rows. `rows` is
// memory of the device. error_invalid: an optimizer that steps no rows, or too many floats.
[[nodiscard]] int queue_row_step(const row_constants& constants, const row_columns& columns,
                                 const row_addresses* rows, std::size_t count,
                                 stream_handle stream);

// Queues copies of so many floats each; no two have one destination. `rows` is memory of the
// device. `is_aligned`: all places are aligned to 16 bytes, and floats are a multiple of 4.
[[nodiscard]] int queue_row_copy(const row_copy* rows, std::size_t count, std::size_t floats,
                                 bool is_aligned, stream_handle stream);

}  // namespace tidegate::runtime::kernels::cuda
