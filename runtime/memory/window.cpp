#include "runtime/memory/window.hpp"

#include <algorithm>

namespace tidegate::runtime {

namespace {

bool within(const place_name& name, std::uint64_t bytes, std::uint32_t planes) {
  const auto size = name.segment.bytes;
  if (planes == 0 || bytes == 0 || name.plane_bytes == 0) return false;
  if (name.plane_bytes > size / planes) return false;
  return name.offset <= name.plane_bytes && bytes <= name.plane_bytes - name.offset;
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

expected<window> window_map::open(const place_name& name, std::uint64_t bytes,
                                  std::uint32_t planes, std::uint32_t prepared) {
  // Nothing of a peer's word is believed: it may be wrong, and a mapping is only so long.
  if (!within(name, bytes, planes) || name.offset % sizeof(float) != 0 ||
      name.plane_bytes % sizeof(float) != 0)
    return fail(errc::corrupt, "a window that does not lie within its segment");
  const auto* found = find(name.segment);
  if (!found) {
    auto opened = segment::open(name.segment);
    if (!opened) return fail(opened.error());
    found = &segments_.emplace_back(std::move(*opened));
  }
  for (std::uint32_t plane = 0; plane < std::min(planes, prepared); ++plane)
    found->prepare(name.offset + plane * name.plane_bytes, bytes);
  return window{found->data() + name.offset, name.plane_bytes, bytes};
}

}  // namespace tidegate::runtime
