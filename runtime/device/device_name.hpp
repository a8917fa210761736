// Names of devices as users write them: "cuda:0", "emulated:3". Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::runtime::devices {

enum class backend : std::uint8_t { cuda, emulated };

struct device_name {
  backend kind = backend::emulated;
  std::uint32_t index = 0;  // of the GPUs that the process sees; the seed of an emulated device

  friend bool operator==(const device_name&, const device_name&) = default;
};

constexpr std::uint32_t device_index_max = 1023;

// Errors: invalid_argument (no such name, or an index above device_index_max).
expected<device_name> parse_device_name(std::string_view text);

}  // namespace tidegate::runtime::devices
