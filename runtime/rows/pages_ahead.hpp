// Makes the pages of an array that grows before it is touched: a huge page at a time, as rows
// come from anywhere in it and small pages would be missed more often. An array that is smaller
// than one grows in powers of two, so that a small table takes little. Pages that take the
// kernel long are asked of another thread (page_maker.hpp), well before they are needed; arrays
// that grow alike have leads of their own, and ask one after the other. Internal to this
// folder. One thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "runtime/memory/segment.hpp"
#include "runtime/rows/page_maker.hpp"

namespace tidegate::runtime::rows {

class pages_ahead {
 public:
  // The array lies in [begin, end) of its segment. `lead`, in [0, 1): pages are asked for ahead
  // of what is needed by half of what the array has up to there, or of a huge page, and by as
  // much as lead / 2 of it.
  pages_ahead(std::uint64_t begin, std::uint64_t end, double lead) noexcept
      : begin_(begin / page_bytes * page_bytes),
        ready_(begin_),
        end_(end),
        lead_((1 + lead) / 2) {}

  // Pages below this offset are there when it returns, or were asked for before. Asks for the
  // next ones.
  void reach(const std::shared_ptr<const segment>& memory, std::uint64_t offset,
             page_maker& maker) {
    offset = std::min(offset, end_);
    while (ready_ < offset) {
      const auto next = next_bytes(offset);
      memory->prepare(ready_, next);
      ready_ += next;
    }
    const auto led = std::min<std::uint64_t>(offset - begin_, segment::huge_page_bytes);
    const auto ahead =
        std::min(end_, offset + static_cast<std::uint64_t>(static_cast<double>(led) * lead_));
    if (ready_ >= ahead) return;
    const auto next = next_bytes(ahead);
    if (next >= asked_least && maker.ask(memory, ready_, next)) ready_ += next;
  }

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t least_bytes = 16 * page_bytes;
  // To have fewer made takes longer than to make them.
  static constexpr std::uint64_t asked_least = 512U << 10U;

  // Returns how many bytes are made next, where pages below this offset are wanted.
  std::uint64_t next_bytes(std::uint64_t offset) const noexcept {
    const auto has = ready_ - begin_;
    const auto wanted = std::bit_ceil(std::max(offset - begin_, least_bytes));
    return has >= segment::huge_page_bytes || wanted >= segment::huge_page_bytes
               ? segment::huge_page_bytes - ready_ % segment::huge_page_bytes
               : wanted - has;
  }

  std::uint64_t begin_;
  std::uint64_t ready_;  // made, or asked for
  std::uint64_t end_;
  double lead_;
};

}  // namespace tidegate::runtime::rows
