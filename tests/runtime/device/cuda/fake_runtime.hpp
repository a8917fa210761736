// The CUDA runtime as far as runtime/device/cuda calls it, over an emulated device: what the
// backend makes of its calls and of their errors is tried without a GPU. It says nothing of
// what CUDA does. Linked in place of libcudart, and of the launches of runtime/kernels/cuda.
// The driver's calls for virtual memory are in fake_driver.cpp.
#pragma once

#include <memory>
#include <string>

#include "runtime/device/emulated/emulated_device.hpp"

namespace tidegate::tests {

struct fake_gpu {
  std::unique_ptr<runtime::devices::emulated_device> device;
  int driver = 13'000;
  int devices = 1;
  std::string model = "NVIDIA H100 80GB HBM3";
  int capability_major = 9;
  bool works_on_host_memory = true;  // that is registered, where the host has it
  bool is_prohibited = false;
  bool has_virtual_memory = true, has_file_descriptors = true, has_read_only_access = true;
  std::string missing_call;  // a function of the driver that is not found
  // A function of the driver that fails, and the number of its error.
  std::string failing_call;
  int error = 2;  // out of memory
  // Seen by the calls.
  unsigned host_register_flags = 0;
  int errors_pending = 0;  // that nobody has taken with cudaGetLastError()
  // Memory, streams and events that are out.
  int memories = 0, registrations = 0, streams = 0, events = 0;
  // What the driver has created or imported, its reserved addresses, and its mappings.
  int handles = 0, reservations = 0, mappings = 0;
};

// The only GPU. A call before cudaSetDevice() fails on it, as on the wrong one of several.
fake_gpu& the_gpu();
// Returns true if this thread has the device current that the program had, and not the GPU.
bool is_programs_device_current();
// Takes it away, and puts in another.
void reset_gpu(const runtime::devices::emulated_options& options);

}  // namespace tidegate::tests
