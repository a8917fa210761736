// Whether a GPU can be used, from what the CUDA runtime says about it. Plain C++, so that every
// answer is tested where there is no GPU, and no nvcc. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::runtime::devices::cuda {

// Kernels are compiled for this compute capability and newer ones (cmake/TidegateCuda.cmake).
constexpr int capability_major_min = 8;

// Versions as CUDA writes them: 13000 is 13.0.
struct driver_report {
  int driver = 0;   // the newest CUDA that the driver knows; 0: there is no driver
  int runtime = 0;  // the CUDA that this program was built with
  int error = 0;    // of asking how many devices there are; 0: none
  std::string error_text;
  int devices = 0;
};

struct gpu_report {
  std::string model;  // "NVIDIA H100 80GB HBM3"
  int capability_major = 0, capability_minor = 0;
  bool is_prohibited = false;  // its compute mode lets nobody use it
  bool has_unified_addresses = true;
};

// Errors: unavailable (no driver, a driver that is too old, no GPU, a driver in trouble),
// not_found (fewer GPUs than that).
status judge_driver(const driver_report& driver, std::uint32_t index);
// Errors: unavailable (what this GPU lacks).
status judge_gpu(const gpu_report& gpu, std::uint32_t index);

}  // namespace tidegate::runtime::devices::cuda
