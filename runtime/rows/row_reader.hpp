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
  // is smaller than a table of this shape, or its file is of another one).
  static expected<row_reader> open(const row_place& place);

  // Lets go of the pages of a file that reading has mapped here, which would stay in memory
  // otherwise; the next read maps what it needs. Nothing where rows lie in no file.
  void release_pages() const noexcept;

  // Valid as long as the reader, and where it is moved to.
  const row_view& view() const noexcept { return view_; }

 private:
  row_reader(segment memory, const row_view& view, std::uint64_t file_bytes)
      : memory_(std::move(memory)), view_(view), file_bytes_(file_bytes) {}

  segment memory_;
  row_view view_;
  std::uint64_t file_bytes_;  // mapped over the values; 0: no file
};

}  // namespace tidegate::runtime
