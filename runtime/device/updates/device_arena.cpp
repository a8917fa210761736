#include "runtime/device/updates/device_arena.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::runtime::devices {

expected<device_arena::place> device_arena::allocate_piece(std::uint64_t piece_size,
                                                           std::uint64_t bytes) {
  auto memory = device_.allocate(piece_size);
  if (!memory) return fail(memory.error());
  pieces_.push_back({.memory = std::move(*memory), .used = round_up(bytes)});
  return place{
      .piece = static_cast<std::uint32_t>(pieces_.size() - 1), .offset = 0, .bytes = bytes};
}

expected<device_arena::place> device_arena::allocate(std::uint64_t bytes) {
  TIDEGATE_ASSERT(bytes > 0, "a place has a size");
  if (bytes > piece_bytes / 2) return allocate_piece(bytes, bytes);
  if (has_shared_ && pieces_[shared_].used + bytes <= piece_bytes) {
    auto& shared = pieces_[shared_];
    const place result{.piece = shared_, .offset = shared.used, .bytes = bytes};
    shared.used += round_up(bytes);
    return result;
  }
  const auto result = allocate_piece(piece_bytes, bytes);
  if (result) {
    shared_ = result->piece;
    has_shared_ = true;
  }
  return result;
}

// A shared piece stays for the next place.
void device_arena::undo(const place& last) {
  auto& owner = pieces_[last.piece];
  TIDEGATE_ASSERT(owner.used == last.offset + round_up(last.bytes), "the last place");
  owner.used = last.offset;
  const bool is_shared = has_shared_ && shared_ == last.piece;
  if (!is_shared) pieces_.pop_back();
}

}  // namespace tidegate::runtime::devices
