// Host memory that is registered with a device: ranges that do not overlap. One thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tidegate::runtime::devices {

class host_ranges {
 public:
  // Returns true if all of it lies in one range.
  bool holds(std::span<const std::byte> bytes) const noexcept;
  // Returns true if any of it lies in a range.
  bool overlaps(std::span<const std::byte> bytes) const noexcept;
  // It overlaps nothing, and is not empty.
  void add(std::span<const std::byte> bytes);
  void remove(std::span<const std::byte> bytes) noexcept;

 private:
  using range = std::span<const std::byte>;
  std::vector<range>::const_iterator first_behind(const std::byte* at) const noexcept;

  std::vector<range> ranges_;  // ascending
};

}  // namespace tidegate::runtime::devices
