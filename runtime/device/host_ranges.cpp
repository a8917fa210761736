#include "runtime/device/host_ranges.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::devices {

namespace {

const std::byte* end_of(std::span<const std::byte> bytes) {
  return bytes.data() + bytes.size();
}

}  // namespace

// The first range that begins behind `at`.
std::vector<host_ranges::range>::const_iterator host_ranges::first_behind(
    const std::byte* at) const noexcept {
  return std::upper_bound(
      ranges_.begin(), ranges_.end(), at,
      [](const std::byte* key, const range& item) { return std::less<>()(key, item.data()); });
}

bool host_ranges::holds(std::span<const std::byte> bytes) const noexcept {
  const auto next = first_behind(bytes.data());
  return next != ranges_.begin() && !std::less<>()(end_of(*std::prev(next)), end_of(bytes));
}

bool host_ranges::overlaps(std::span<const std::byte> bytes) const noexcept {
  const auto next = first_behind(bytes.data());
  if (next != ranges_.end() && std::less<>()(next->data(), end_of(bytes))) return true;
  return next != ranges_.begin() && std::less<>()(bytes.data(), end_of(*std::prev(next)));
}

void host_ranges::add(std::span<const std::byte> bytes) {
  TIDEGATE_ASSERT(!bytes.empty() && !overlaps(bytes), "host memory is registered once");
  ranges_.insert(first_behind(bytes.data()), bytes);
}

void host_ranges::remove(std::span<const std::byte> bytes) noexcept {
  const auto next = first_behind(bytes.data());
  TIDEGATE_ASSERT(next != ranges_.begin() && std::prev(next)->data() == bytes.data(),
                  "the memory was registered");
  ranges_.erase(std::prev(next));
}

}  // namespace tidegate::runtime::devices
