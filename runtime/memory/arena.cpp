#include "runtime/memory/arena.hpp"

#include <algorithm>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime {

namespace {

constexpr std::size_t copy_bytes_min = std::size_t{64} << 20;  // address space, not memory
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
  auto result = reserve(bytes);
  if (result) prepare(*result, 0);
  return result;
}

expected<arena::place> arena::reserve(std::size_t bytes) {
  TIDEGATE_ASSERT(bytes > 0, "a place has a size");
  const auto align = alignment_of(bytes);
  const auto fits = [&](const part& piece) {
    return aligned_up(piece.used, align) + bytes <= piece.copy_bytes;
  };
  auto found = std::find_if(parts_.begin(), parts_.end(), fits);
  if (found == parts_.end()) {
    const auto copy = aligned_up(std::max(bytes, copy_bytes_min), segment::huge_page_bytes);
    auto memory = segment::create(label_, copy * copies_);
    if (!memory) return fail(memory.error());
    parts_.push_back({std::move(*memory), copy, 0});
    found = parts_.end() - 1;
  }
  const auto offset = aligned_up(found->used, align);
  found->used = offset + bytes;
  return place{.segment = static_cast<std::uint32_t>(found - parts_.begin()),
               .offset = offset,
               .bytes = bytes};
}

void arena::prepare(const place& where, std::uint32_t copy) const {
  const auto& home = parts_[where.segment];
  home.memory.prepare(where.offset + copy * home.copy_bytes, where.bytes);
}

void arena::prepare_piece(const place& where, std::uint32_t copy, std::size_t offset,
                          std::size_t bytes) const {
  const auto& home = parts_[where.segment];
  constexpr auto huge = segment::huge_page_bytes;
  const auto first = std::max(where.offset, (where.offset + offset) / huge * huge);
  const auto end =
      std::min(where.offset + where.bytes, aligned_up(where.offset + offset + bytes, huge));
  home.memory.prepare(first + copy * home.copy_bytes, end - first);
}

void arena::discard(const place& where) const {
  const auto& home = parts_[where.segment];
  for (std::uint32_t copy = 0; copy < copies_; ++copy)
    home.memory.discard(where.offset + copy * home.copy_bytes, where.bytes);
}

std::byte* arena::at(const place& where, std::uint32_t copy) const {
  TIDEGATE_ASSERT(where.segment < parts_.size() && copy < copies_, "a place of this arena");
  const auto& home = parts_[where.segment];
  return home.memory.data() + copy * home.copy_bytes + where.offset;
}

shm_handle arena::name(const place& where) const {
  const auto& home = parts_[where.segment];
  return {.segment = home.memory.name(), .copy_bytes = home.copy_bytes, .offset = where.offset};
}

}  // namespace tidegate::runtime
