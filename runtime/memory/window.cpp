#include "runtime/memory/window.hpp"

#include <algorithm>

namespace tidegate::runtime {

namespace {

bool within(const shm_handle& name, std::uint64_t bytes, std::uint32_t copies) {
  const auto size = name.segment.bytes;
  if (copies == 0 || bytes == 0 || name.copy_bytes == 0) return false;
  if (name.copy_bytes > size / copies) return false;
  return name.offset <= name.copy_bytes && bytes <= name.copy_bytes - name.offset;
}

}  // namespace

const segment* window_map::find(const segment_name& name) const noexcept {
  const auto at = std::find_if(segments_.begin(), segments_.end(),
                               [&](const segment& memory) { return memory.name() == name; });
  return at == segments_.end() ? nullptr : &*at;
}

bool window_map::holds(const void* at) const noexcept {
  const auto* byte = static_cast<const std::byte*>(at);
  return std::any_of(segments_.begin(), segments_.end(), [&](const segment& memory) {
    return byte >= memory.data() && byte < memory.data() + memory.size();
  });
}

expected<window> window_map::open(const shm_handle& name, std::uint64_t bytes,
                                  std::uint32_t copies, std::uint32_t prepared) {
  // Nothing of a peer's word is believed: it may be wrong, and a mapping is only so long.
  if (!within(name, bytes, copies) || name.offset % sizeof(float) != 0 ||
      name.copy_bytes % sizeof(float) != 0)
    return fail(errc::corrupt, "a window that does not lie within its segment");
  const auto* found = find(name.segment);
  if (!found) {
    auto opened = segment::open(name.segment);
    if (!opened) return fail(opened.error());
    found = &segments_.emplace_back(std::move(*opened));
  }
  for (std::uint32_t copy = 0; copy < std::min(copies, prepared); ++copy)
    found->prepare(name.offset + copy * name.copy_bytes, bytes);
  return window{
      .base = found->data() + name.offset, .copy_bytes = name.copy_bytes, .bytes = bytes};
}

}  // namespace tidegate::runtime
