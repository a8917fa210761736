// The batches that workers have pushed to one part in one clock, row by row: for each id the
// gradients of the ranks that have it, ascending in rank, as the canonical tree sums them
// (runtime/kernels/update.hpp). A rank that did not push a row is not there; so bits depend on
// who pushed the row, and on nothing else.
//
// Reads the batches where they lie, each id once: a process that writes its ids meanwhile gets
// sums that nobody can explain, and harms nobody else. One thread; the batches outlive it. Once
// warm, nothing allocates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/batches/row_batch.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime {

class batch_merger {
 public:
  struct input {
    std::uint32_t rank = 0;
    row_batch batch;
  };

  // Begins with these batches, which ascend in rank and have one `dim`. What is called a sum
  // here is what this reduction makes of the gradients of a row.
  void begin(std::span<const input> inputs, std::uint32_t dim,
             const kernels::combination& by = {});

  // Appends rows to `ids` and their sums to `values`, `dim` each, until so many rows are there
  // or there are no more; returns how many it has appended. `ids` has room for `rows_max`,
  // `values` for as many times dim.
  std::size_t next(std::size_t rows_max, std::uint64_t* ids, float* values);
  // Likewise, but rows[i] is where the sum lies: in the batch of the rank that is the only one
  // to have pushed the row, or in `values`.
  std::size_t next(std::size_t rows_max, std::uint64_t* ids, const float** rows, float* values);

  // Returns how many rows are left, each id counted once: looks through all ids.
  std::uint64_t rows_left();

 private:
  struct cursor {
    std::uint32_t rank = 0;
    std::size_t next = 0;  // row
    std::uint64_t id = 0;  // of that row
    row_batch batch;

    // Returns false if it was the last row.
    bool advance();
  };

  void sum_row(float* out) const;  // of gradients_
  // Calls take(i) for the i-th row, whose gradients are in gradients_.
  template <class Take>
  std::size_t take_rows(std::size_t rows_max, std::uint64_t* ids, const Take& take);
  static std::uint64_t least_of(const std::vector<cursor>& cursors);

  std::vector<cursor> cursors_;   // of batches with rows left, ascending in rank
  std::vector<cursor> counting_;  // of rows_left()
  std::vector<kernels::gradient> gradients_;
  std::uint32_t dim_ = 0;
  kernels::combination by_;
};

}  // namespace tidegate::runtime
