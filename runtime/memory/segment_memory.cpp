#include "runtime/memory/segment_memory.hpp"

#include <functional>
#include <utility>

namespace tidegate::runtime {

region segment_memory::allocate(std::size_t bytes) {
  auto result = segment::create("tidegate-payload", bytes);
  if (!result)
    return heap_.allocate(bytes);  // no descriptor is left: others are sent it in pieces
  result->prepare(0, bytes);
  auto* data = result->data();
  segments_.emplace(data, std::move(*result));
  return {*this, data, bytes, nullptr};
}

std::optional<segment_memory::name> segment_memory::find(
    std::span<const std::byte> bytes) const noexcept {
  auto found = segments_.upper_bound(bytes.data());
  if (found == segments_.begin()) return std::nullopt;
  --found;
  const auto& memory = found->second;
  const auto offset = static_cast<std::size_t>(bytes.data() - memory.data());
  if (offset >= memory.size() || bytes.size() > memory.size() - offset) return std::nullopt;
  return name{memory.name(), offset};
}

void segment_memory::release(std::byte* data, std::size_t, void*) noexcept {
  segments_.erase(data);
}

}  // namespace tidegate::runtime
