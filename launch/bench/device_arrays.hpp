// The arrays of `tidegate bench device`: gradients on a device and on the host, parameters,
// state. All have as many elements, and small positive numbers that differ.
//
// One thread, that of the device, which outlives them; all work on them has ended when they go.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "launch/bench/huge_array.hpp"
#include "runtime/device/device.hpp"

namespace tidegate::bench {

class device_arrays {
 public:
  struct shape {
    std::size_t elements = 0;     // of each array
    std::size_t inputs = 1;       // on the device
    std::size_t host_inputs = 1;  // in registered memory
  };
  static constexpr std::size_t states = 2;

  // Queues on this stream that the device's arrays be filled. Errors: those of the device.
  static runtime::expected<device_arrays> make(runtime::devices::device& owner,
                                               const shape& wanted,
                                               runtime::devices::stream on);

  std::size_t elements() const noexcept { return elements_; }
  float* input(std::size_t i) const { return floats(i); }
  float* parameters() const { return floats(device_.size() - states - 1); }
  float* state(std::size_t i) const { return floats(device_.size() - states + i); }
  std::span<const float> host_input(std::size_t i) const { return host_[i].all(); }

 private:
  float* floats(std::size_t i) const { return reinterpret_cast<float*>(device_[i].data()); }

  std::size_t elements_ = 0;
  std::vector<huge_array> host_;
  std::vector<runtime::devices::host_memory> registered_;  // goes before host_
  std::vector<runtime::devices::device_memory> device_;    // inputs, parameters, states
};

}  // namespace tidegate::bench
