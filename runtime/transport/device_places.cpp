#include "runtime/transport/device_places.hpp"

#include <cstring>
#include <string>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

static_assert(sizeof(device_place) == device_place_bytes, "a place is its own wire form");

std::vector<std::byte> encode(std::span<const device_place> places) {
  TIDEGATE_ASSERT(places.size() <= device_places_max, "places are bounded");
  const auto bytes = std::as_bytes(places);
  return {bytes.begin(), bytes.end()};
}

expected<std::vector<device_place>> decode_device_places(std::span<const std::byte> wire) {
  if (wire.empty() || wire.size() % device_place_bytes != 0 ||
      wire.size() > device_places_bytes_max)
    return fail(errc::corrupt,
                "the names of places on a device in " + std::to_string(wire.size()) + " bytes");
  std::vector<device_place> places(wire.size() / device_place_bytes);
  std::memcpy(places.data(), wire.data(), wire.size());
  return places;
}

}  // namespace tidegate::runtime
