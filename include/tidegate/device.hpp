// Memory of a device, as a worker program uses it. Plain values, no thread rule.
#pragma once

#include <cstdint>
#include <string>

namespace tidegate {

// Elements of float32 in memory of a device: for work that the program queues there. A host
// that touches them dies, or reads what is not there.
struct device_span {
  float* data = nullptr;
  std::uint64_t size = 0;

  bool empty() const noexcept { return size == 0; }
};
struct const_device_span {
  const float* data = nullptr;
  std::uint64_t size = 0;

  bool empty() const noexcept { return size == 0; }
};

// Where a session keeps the tables that it opens.
struct session_device {
  // "cuda:N": a GPU of those that this process sees. "emulated:N": threads that behave like
  // one.
  std::string name;
  // The stream on which the program writes gradients and reads parameters, a cudaStream_t; 0:
  // CUDA's default stream. It outlives the session, or the call that names another.
  std::uintptr_t stream = 0;
};

}  // namespace tidegate
