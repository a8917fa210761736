// Random calls of an engine beside the same calls on plain arrays, bit for bit. On a device
// that its caller paces a seed is a run.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/device/device.hpp"
#include "runtime/device/emulated/emulated_device.hpp"

namespace tidegate::tests {

// A device that its caller paces.
runtime::devices::emulated_options paced_device(std::uint64_t seed);

struct rows_report {
  std::string problem;  // empty: none was found
  std::uint64_t steps = 0;
  std::uint64_t rows_moved = 0;
  std::uint64_t reads = 0;
};
rows_report try_rows(runtime::devices::device& on, std::uint64_t seed);
// On an emulated device.
rows_report try_rows_on_device(std::uint64_t seed);

}  // namespace tidegate::tests
