// Makes the pages of an array that grows before it is touched: a huge page at a time, which
// takes a tenth of the time that first touch of its small pages does. An array that is smaller
// than one grows in powers of two, so that a small table takes little. A huge page takes the
// kernel about as long as thousands of rows take to be made, so arrays that grow alike have
// leads of their own, and wait for it one after the other. Internal to this folder. One thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "runtime/memory/segment.hpp"

namespace tidegate::runtime::rows {

class pages_ahead {
 public:
  // The array lies in [begin, end) of its segment; pages are made ahead of what is asked for,
  // by `lead`, in [0, 1), times as much as the array has up to there, or times a huge page.
  pages_ahead(std::uint64_t begin, std::uint64_t end, double lead) noexcept
      : begin_(begin / page_bytes * page_bytes), ready_(begin_), end_(end), lead_(lead) {}

  // Pages below this offset are there when it returns.
  void reach(const segment& memory, std::uint64_t offset) {
    const auto led = std::min<std::uint64_t>(offset - begin_, segment::huge_page_bytes);
    offset += static_cast<std::uint64_t>(static_cast<double>(led) * lead_);
    offset = std::min(offset, end_);
    while (ready_ < offset) {
      const auto has = ready_ - begin_;
      const auto wanted = std::bit_ceil(std::max(offset - begin_, least_bytes));
      const auto next = has >= segment::huge_page_bytes || wanted >= segment::huge_page_bytes
                            ? segment::huge_page_bytes - ready_ % segment::huge_page_bytes
                            : wanted - has;
      memory.prepare(ready_, next);
      ready_ += next;
    }
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t least_bytes = 16 * page_bytes;

  std::uint64_t begin_;
  std::uint64_t ready_;
  std::uint64_t end_;
  double lead_;
};

}  // namespace tidegate::runtime::rows
