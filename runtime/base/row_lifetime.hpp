// When rows come and go: how often an id is pushed before it has a row, and which rows are
// erased. Both follow from the steps that were made and their clocks, and from nothing else.
// Plain values, any thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tidegate::runtime {

// Which rows go first where there are too many; rows that are alike go by clock, then by a hash
// of their ids, as small ids may be those that are used most.
// The numbers are in journals, and never used again.
enum class eviction_order : std::uint8_t {
  lru = 0,  // those pushed longest ago
  lfu = 1,  // those pushed least often
  l2 = 2,   // those whose values have the least sum of squares
};
inline constexpr eviction_order eviction_orders[] = {eviction_order::lru, eviction_order::lfu,
                                                     eviction_order::l2};

struct row_lifetime {
  // Steps with a push of its id that a row takes to be made: it makes the last of them. What
  // was pushed before is not applied.
  std::uint32_t admit_count = 1;
  // Ids without a row whose pushes are counted, at most; those pushed longest ago are
  // forgotten. 0 where all have rows at once.
  std::uint64_t candidates = 0;
  // A row that nobody has pushed for so many clocks is erased, and a candidate forgotten; 0:
  // never.
  std::uint64_t unseen = 0;
  std::uint64_t rows = 0;  // at most; 0: as many as there is room for
  eviction_order by = eviction_order::lru;

  bool admits_at_once() const noexcept { return admit_count <= 1; }
  bool is_eternal() const noexcept { return unseen == 0 && rows == 0; }
  friend bool operator==(const row_lifetime&, const row_lifetime&) = default;
};

// Rows that are looked at as one: between two such blocks of a step there may be as many rows,
// or candidates, too many.
inline constexpr std::size_t lifetime_block = 4096;

// Returns how many of at most `limit` rows are left when there were more, so that rows are
// chosen once for many that are made.
constexpr std::uint64_t left_of(std::uint64_t limit) noexcept {
  return limit - limit / 16;
}

// Returns true if a step of clock `now` looks for rows that nobody has pushed for `unseen`
// clocks, where the steps before it had reached `before`: once in a sixteenth of that time.
constexpr bool looks_for_unseen(std::uint64_t unseen, std::uint64_t before,
                                std::uint64_t now) noexcept {
  const auto period = std::max<std::uint64_t>(unseen / 16, 1);
  return unseen > 0 && now / period != before / period;
}

}  // namespace tidegate::runtime
