// The seam of runtime/device on a GPU, by the CUDA runtime. Nobody outside this folder sees a
// header of CUDA.
//
// The runtime is linked statically and looks for the driver (libcuda.so.1) when it is first
// called: a program that has this linked starts on machines without either. The GPU's primary
// context is used, so that other libraries of the process (torch) share it. Each call makes the
// device current on its thread, and the one that was so before when it ends. After a fork
// without exec nothing works.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/device/device.hpp"

namespace tidegate::runtime::devices::cuda {

// Returns ok if open_gpu() may succeed, without taking anything on the GPU. Errors: those of
// availability.hpp.
status check_gpu(std::uint32_t index);
// Opens a GPU of those that this process sees. The first time takes as long as the driver takes
// to start. Errors: those of availability.hpp, at once; unavailable (others have it alone).
expected<std::unique_ptr<device>> open_gpu(std::uint32_t index);

}  // namespace tidegate::runtime::devices::cuda
