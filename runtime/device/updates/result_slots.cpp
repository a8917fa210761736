#include "runtime/device/updates/result_slots.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::devices {

expected<result_slots> result_slots::make(device& owner, std::size_t slots,
                                          std::size_t slot_bytes) {
  TIDEGATE_ASSERT(slots > 0 && slot_bytes >= sizeof(float), "room for an element");
  result_slots result;
  result.slot_bytes_ = slot_bytes / sizeof(float) * sizeof(float);
  auto pinned = owner.allocate_host(slots * slot_bytes);
  if (!pinned) return fail(pinned.error());
  for (std::size_t i = 0; i < slots; ++i) {
    const auto copied = owner.make_event();
    if (!copied) return fail(copied.error());
    result.slots_.push_back(
        {.pinned = pinned->bytes().data() + i * slot_bytes, .copied = *copied});
  }
  result.pinned_ = std::move(*pinned);
  return result;
}

}  // namespace tidegate::runtime::devices
