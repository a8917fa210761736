// Where copies of something lie in the memory of a device, as frames say it: the payload of
// device_attach and of its answer. The window is opaque here; a device opens it
// (runtime/device/device.hpp). Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

struct device_place {
  std::uint64_t copy = 0;    // a half of gradients, or a version buffer
  std::uint64_t offset = 0;  // bytes, within the window
  std::array<std::byte, 96> window{};

  friend bool operator==(const device_place&, const device_place&) = default;
};

inline constexpr std::size_t device_place_bytes = 112;
inline constexpr std::size_t device_places_max = 8;
inline constexpr std::size_t device_places_bytes_max = device_places_max * device_place_bytes;

// device_places_max at most.
std::vector<std::byte> encode(std::span<const device_place> places);
// Errors: corrupt (no whole number of places, none, or more than device_places_max). Whether
// the windows are any is for the device to say.
expected<std::vector<device_place>> decode_device_places(std::span<const std::byte> wire);

}  // namespace tidegate::runtime
