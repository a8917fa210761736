#include "launch/bench/device_arrays.hpp"

#include <bit>

#include "runtime/base/rng.hpp"

namespace tidegate::bench {

namespace {

using runtime::devices::host_access;

// Floats in [0.5, 1): numbers that are all the same may be moved faster.
void fill_with_numbers(std::span<float> array, std::uint64_t key) {
  for (std::size_t i = 0; i < array.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(runtime::mix64(key + i)) & 0x7fffffU;
    array[i] = std::bit_cast<float>(0x3f000000U | bits);
  }
}

}  // namespace

runtime::expected<device_arrays> device_arrays::make(runtime::devices::device& owner,
                                                     const shape& wanted,
                                                     runtime::devices::stream on) {
  device_arrays result;
  result.elements_ = wanted.elements;
  const auto bytes = wanted.elements * sizeof(float);
  for (std::size_t i = 0; i < wanted.inputs + 1 + states; ++i) {
    auto memory = owner.allocate(bytes);
    if (!memory) return runtime::fail(memory.error());
    result.device_.push_back(std::move(*memory));
  }
  for (std::size_t i = 0; i < wanted.host_inputs; ++i) {
    fill_with_numbers(result.host_.emplace_back(wanted.elements).all(), i << 40U);
    auto registered = owner.register_host(std::as_writable_bytes(result.host_.back().all()),
                                          host_access::read_write);
    if (!registered) return runtime::fail(registered.error());
    result.registered_.push_back(std::move(*registered));
  }
  // Nothing fails for want of memory from here on, so nothing goes while it is filled.
  for (std::size_t i = 0; i < result.device_.size(); ++i) {
    const auto from = std::as_bytes(result.host_input(i % wanted.host_inputs));
    if (auto copied = owner.copy_in(on, result.device_[i].data(), from); !copied.ok())
      return runtime::fail(copied);
  }
  return result;
}

}  // namespace tidegate::bench
