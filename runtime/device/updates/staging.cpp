#include "runtime/device/updates/staging.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::devices {

expected<staging> staging::make(device& owner, std::size_t slots, std::size_t slot_bytes) {
  TIDEGATE_ASSERT(
      slots > 0 && slot_bytes >= slot_bytes_min && slot_bytes % staging_alignment == 0,
      "slots have room for a piece of any step");
  staging result;
  result.slot_bytes_ = slot_bytes;
  auto pinned = owner.allocate_host(slots * slot_bytes);
  if (!pinned) return fail(pinned.error());
  auto on_device = owner.allocate(slots * slot_bytes);
  if (!on_device) return fail(on_device.error());
  for (std::size_t i = 0; i < slots; ++i) {
    const auto copied = owner.make_event();
    if (!copied) return fail(copied.error());
    const auto consumed = owner.make_event();
    if (!consumed) return fail(consumed.error());
    result.slots_.push_back({.pinned = pinned->bytes().data() + i * slot_bytes,
                             .on_device = on_device->data() + i * slot_bytes,
                             .copied = *copied,
                             .consumed = *consumed});
  }
  result.pinned_ = std::move(*pinned);
  result.on_device_ = std::move(*on_device);
  return result;
}

std::size_t staging::piece_of(std::span<const step_input> inputs,
                              std::size_t left) const noexcept {
  std::size_t bytes = 0, gaps = 0;  // of an element of all inputs; between inputs
  for (const auto& input : inputs) {
    if (input.place == input_place::device) continue;
    bytes += size_of(input.gradient.type);
    gaps += staging_alignment;
  }
  if (bytes == 0) return left;
  const auto room = (slot_bytes_ - gaps) / bytes / piece_elements * piece_elements;
  return std::min(left, room);
}

}  // namespace tidegate::runtime::devices
