// A table of rows as it is read, in its own process or another: lookups, and rows by id. A row
// that does not exist has its initial values, so reading never makes a row.
//
// A view owns nothing; the memory outlives it. Any number of threads and processes may read
// while nobody writes. Reading while somebody does is harmless but may give half of a change:
// whoever must know takes version() before and after, and reads again where it has changed or
// is odd (a sequence lock: Boehm, MSPC 2012).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/memory/segment.hpp"
#include "runtime/rows/initial_values.hpp"
#include "runtime/rows/row_index.hpp"
#include "runtime/rows/row_layout.hpp"
#include "runtime/rows/row_slabs.hpp"

namespace tidegate::runtime {

// At the begin of a table's memory.
struct row_header {
  std::uint64_t version;  // odd while somebody writes
  segment_name file;      // of values and states, if they lie in such; else of 0 bytes
};

class row_view {
 public:
  // `memory` is that of a table of this layout; initial.key is the table's.
  row_view(const std::byte* memory, const row_layout& layout,
           const initial_row& initial) noexcept
      : memory_(memory),
        index_(memory + layout.index_begin, layout.index),
        slabs_(memory, layout),
        initial_(initial) {}

  // out[i * dim, (i + 1) * dim) = the values of the row ids[i]. Ids may repeat. Allocates
  // nothing.
  void gather(std::span<const std::uint64_t> ids, std::span<float> out) const;

  // Likewise; rows[i] is the number of ids[i], as index().find() has it.
  void copy(std::span<const std::uint64_t> ids, std::span<const row_number> rows,
            std::span<float> out) const;

  // Even and the same before and after a read: nobody wrote meanwhile.
  std::uint64_t version() const noexcept;
  // To be called between the read and the second version().
  static void end_of_read() noexcept;

  std::uint64_t size() const noexcept { return index_.size(); }
  std::uint32_t dim() const noexcept { return slabs_.layout().shape.dim; }
  const index_view& index() const& noexcept { return index_; }
  const row_slabs_view& slabs() const& noexcept { return slabs_; }
  // Of a view that is about to go.
  index_view index() const&& noexcept { return index_; }
  row_slabs_view slabs() const&& noexcept { return slabs_; }

 private:
  const std::byte* memory_;
  index_view index_;
  row_slabs_view slabs_;
  initial_row initial_;
};

// SHA-256 as 64 hex digits of all rows, ascending by id: id, values, state, clock and number of
// pushes, after the dimension and the size of the state. It does not depend on the order in
// which rows were made and erased, nor on the capacity. Takes 16 bytes of memory per row.
std::string hash_of_rows(const row_view& rows);

}  // namespace tidegate::runtime
