// first_not_finite() of runtime/kernels/update.hpp on a GPU. Thread rule and errors are those
// of cuda/update.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/kernels/cuda/update.hpp"

namespace tidegate::runtime::kernels::cuda {

// Queues that *first, in memory of the device, become the index of the first of n numbers that
// is NaN or infinity; at least n if all are finite.
[[nodiscard]] int queue_find_not_finite(const float* numbers, std::size_t n,
                                        std::uint64_t* first, stream_handle stream);

}  // namespace tidegate::runtime::kernels::cuda
