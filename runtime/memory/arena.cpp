#include "runtime/memory/arena.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t plane_bytes_min = std::size_t{64} << 20;  // address space, not memory
constexpr std::size_t cache_line = 64;

// Tables of a page and more start on pages, so that pieces of them can be mapped elsewhere.
std::size_t alignment_of(std::size_t bytes) {
  if (bytes >= segment::huge_page_bytes) return segment::huge_page_bytes;
  return bytes >= segment::page_bytes ? segment::page_bytes : cache_line;
}

std::size_t aligned_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

expected<arena::place> arena::allocate(std::size_t bytes) {
  TIDEGATE_ASSERT(bytes > 0, "a place has a size");
  const auto align = alignment_of(bytes);
  const auto fits = [&](const part& piece) {
    return aligned_up(piece.used, align) + bytes <= piece.plane_bytes;
  };
  auto found = std::find_if(parts_.begin(), parts_.end(), fits);
  if (found == parts_.end()) {
    const auto plane = aligned_up(std::max(bytes, plane_bytes_min), segment::huge_page_bytes);
    auto memory = segment::create(label_, plane * planes_);
    if (!memory) return fail(memory.error());
    parts_.push_back({std::move(*memory), plane, 0});
    found = parts_.end() - 1;
  }
  const auto offset = aligned_up(found->used, align);
  found->used = offset + bytes;
  const place result{static_cast<std::uint32_t>(found - parts_.begin()), offset, bytes};
  prepare(result, 0);
  return result;
}

void arena::prepare(const place& where, std::uint32_t plane) const {
  const auto& home = parts_[where.segment];
  home.memory.prepare(where.offset + plane * home.plane_bytes, where.bytes);
}

std::byte* arena::at(const place& where, std::uint32_t plane) const {
  TIDEGATE_ASSERT(where.segment < parts_.size() && plane < planes_, "a place of this arena");
  const auto& home = parts_[where.segment];
  return home.memory.data() + plane * home.plane_bytes + where.offset;
}

place_name arena::name(const place& where) const {
  const auto& home = parts_[where.segment];
  return {home.memory.name(), home.plane_bytes, where.offset};
}

}  // namespace tidegate::runtime
