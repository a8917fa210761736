// A table of rows of another process of this host, read in place.
//
// The reader owns its mapping, and keeps the pages even when the table's process has died.
// Move-only. It reads as row_view.hpp says, and believes nothing that it reads: numbers that
// lead out of the memory count as rows that do not exist.
#pragma once

#include <utility>

#include "runtime/base/status.hpp"
#include "runtime/memory/segment.hpp"
#include "runtime/rows/row_table.hpp"
#include "runtime/rows/row_view.hpp"

namespace tidegate::runtime {

class row_reader {
 public:
  // Errors: unavailable (segment::open), invalid_argument (no such shape), corrupt (the segment
  // is smaller than a table of this shape).
  static expected<row_reader> open(const row_place& place);

  // Valid as long as the reader, and where it is moved to.
  const row_view& view() const noexcept { return view_; }

 private:
  row_reader(segment memory, const row_view& view) : memory_(std::move(memory)), view_(view) {}

  segment memory_;
  row_view view_;
};

}  // namespace tidegate::runtime
