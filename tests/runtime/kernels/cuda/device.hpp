// A device's memory and errors, for tests that run on a GPU. An error ends the program with the
// call that had it; without a device the program ends as skipped.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime_api.h>

namespace tidegate::tests {

constexpr int exit_skipped = 77;  // CTest's SKIP_RETURN_CODE

inline void require(int error, const char* call) {
  if (error == cudaSuccess) return;
  std::printf("%s: error %d: %s\n", call, error,
              cudaGetErrorString(static_cast<cudaError_t>(error)));
  std::exit(1);
}

// Prints the device, or ends the program as skipped.
inline void require_device() {
  int devices = 0;
  const auto error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::printf("skipped: no device: %s\n", cudaGetErrorString(error));
    std::exit(exit_skipped);
  }
  cudaDeviceProp properties{};
  require(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::printf("%s, compute capability %d.%d, %d multiprocessors\n", properties.name,
              properties.major, properties.minor, properties.multiProcessorCount);
}

class device_memory {
 public:
  explicit device_memory(std::size_t bytes) {
    require(cudaMalloc(&data_, bytes), "cudaMalloc");
  }
  ~device_memory() { cudaFree(data_); }
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  std::byte* data() const noexcept { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

}  // namespace tidegate::tests
