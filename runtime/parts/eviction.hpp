// Which rows of a table go, as row_lifetime says. Pure functions of the rows, whatever their
// order in memory; the same on every replica.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/row_lifetime.hpp"
#include "runtime/rows/row_table.hpp"

namespace tidegate::runtime {

// Chooses rows to be erased. Keeps its memory from one time to the next. One thread.
class row_eviction {
 public:
  // Returns the ids, ascending, of the rows that nobody has pushed for `unseen` clocks at
  // `now`. Valid until the next call.
  const std::vector<std::uint64_t>& find_unseen(const row_view& rows, std::uint64_t unseen,
                                                std::uint64_t now);
  // Returns the ids, ascending, of so many rows that go first. Valid until the next call.
  const std::vector<std::uint64_t>& find_first(const row_table& rows, eviction_order order,
                                               std::uint64_t count);

 private:
  struct ranked {
    double worth = 0;
    std::uint64_t clock = 0;
    std::uint64_t id = 0;
  };
  struct numbered {
    row_number number = 0;
    std::uint64_t id = 0;
  };

  void rank_by_squares(const row_table& rows);

  std::vector<ranked> ranked_;
  std::vector<numbered> numbered_;
  std::vector<row_number> numbers_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace tidegate::runtime
