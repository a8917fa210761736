// A peer's memory as seen from here: its places, read in place. Each segment is mapped once,
// however many places of it are opened. One thread; a window is valid as long as its map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/memory/arena.hpp"
#include "runtime/memory/segment.hpp"

namespace tidegate::runtime {

// A place of another process: read-only.
struct window {
  const std::byte* base = nullptr;  // copy 0
  std::uint64_t copy_bytes = 0;
  std::uint64_t bytes = 0;

  explicit operator bool() const noexcept { return base != nullptr; }
  const std::byte* at(std::uint32_t copy) const noexcept { return base + copy * copy_bytes; }
};

class window_map {
 public:
  // `bytes` of each of `copies` copies. The pages of the first `prepared`
  // copies are entered here and now. Errors: unavailable (segment::open), corrupt (the
  // place is not within its segment).
  expected<window> open(const shm_handle& name, std::uint64_t bytes, std::uint32_t copies,
                        std::uint32_t prepared);
  // The segment that holds a place; null when it was never opened.
  const segment* find(const segment_name& name) const noexcept;
  // Whether this address lies in one of the segments.
  bool holds(const void* at) const noexcept;

 private:
  std::vector<segment> segments_;
};

}  // namespace tidegate::runtime
