// What the CUDA runtime says about a GPU before it is used.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

#include "runtime/base/status.hpp"

namespace tidegate::runtime::devices::cuda {

// Returns the properties of a GPU that can be used. Errors: those of availability.hpp;
// unavailable (CUDA does not answer).
expected<cudaDeviceProp> ask_gpu(std::uint32_t index);
// Returns unavailable, with the words of an error that opening a GPU ended with.
status cannot_open(std::uint32_t index, cudaError_t error);

}  // namespace tidegate::runtime::devices::cuda
