// Makes the pages of an array that grows before it is touched: a huge page at a time, which
// takes a tenth of the time that first touch of its small pages does. Internal to this folder.
// One thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/memory/segment.hpp"

namespace tidegate::runtime::rows {

class pages_ahead {
 public:
  // The array lies in [begin, end) of its segment.
  pages_ahead(std::uint64_t begin, std::uint64_t end) noexcept
      : ready_(begin / segment::huge_page_bytes * segment::huge_page_bytes), end_(end) {}

  // Pages below this offset are there when it returns.
  void reach(const segment& memory, std::uint64_t offset) {
    for (; ready_ < std::min(offset, end_); ready_ += segment::huge_page_bytes)
      memory.prepare(ready_, segment::huge_page_bytes);
  }

 private:
  std::uint64_t ready_;
  std::uint64_t end_;
};

}  // namespace tidegate::runtime::rows
