// Memory of a simulated process, which outlives it while somebody has it mapped.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace tidegate::sim {

using region = std::shared_ptr<std::vector<float>>;

struct memory_view {
  region where;
  std::size_t first = 0;
  std::size_t count = 0;

  explicit operator bool() const noexcept { return where != nullptr; }
  std::span<float> values() const { return {where->data() + first, count}; }
  std::span<const std::byte> bytes() const { return std::as_bytes(values()); }
};

}  // namespace tidegate::sim
