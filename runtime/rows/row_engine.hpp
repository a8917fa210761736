// Where values and states of a table's rows lie if it is not the table's own memory: on a
// device. The table keeps ids, numbers and uses; the engine has what floats there are, by the
// numbers of the rows, and what rows were before steps that are noted.
//
// An engine may work by itself: its calls take effect in their order, and what they write on
// the host is there when its owner says that the work has ended. Gradients that lie where it
// can read them (registered with its device) stay as they are until then; others are copied
// before step() returns.
//
// One thread, the table's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/kernels/row_optimizer.hpp"
#include "runtime/memory/buffer.hpp"
#include "runtime/rows/row_layout.hpp"

namespace tidegate::runtime {

// Places for rows as they were before a step, of which an engine has as many as are asked for.
struct row_notes {
  std::uint32_t list = 0;
  std::uint32_t first = 0;  // of its places
};

// Where the values of a row are read.
struct row_source {
  enum class place : std::uint8_t {
    nowhere,  // they are not read
    row,      // `number` is that of the row
    note,     // `number` is a place of `list`
  };
  place from = place::nowhere;
  std::uint32_t list = 0;
  row_number number = 0;
};

// What keeps memory on the host that an engine reads or writes later.
struct row_memory_owner {
  std::shared_ptr<const void> object;
  buffer payload;
};

class row_engine {
 public:
  // What is stepped of each row by one optimizer.
  struct segment {
    row_coefficients step;
    kernels::row_columns columns;
  };

  virtual ~row_engine() = default;

  // Takes memory for rows of numbers below `rows`. Errors: no_space (no memory is left),
  // unavailable.
  virtual status reserve(std::uint64_t rows) = 0;
  // Takes memory for so many notes of a list. Errors: those of reserve().
  virtual status reserve_notes(std::uint32_t list, std::uint64_t notes) = 0;
  // These rows, which are different, are about to be noted and stepped.
  virtual void prepare_step(std::span<const row_number> rows) = 0;
  // Sets rows that are new to these values and to no state; copies them.
  virtual void begin(std::span<const row_number> rows, std::span<const float> values) = 0;
  // Sets rows to these values and states, which `owner` keeps as they are.
  virtual void put(std::span<const row_number> rows, std::span<const float> values,
                   std::span<const float> states, const row_memory_owner& owner) = 0;
  // Notes the values of rows as they are, from this place on; room for them was reserved.
  virtual void note(const row_notes& into, std::span<const row_number> rows) = 0;
  // Sets notes, which were reserved, to these values, which `owner` keeps as they are.
  virtual void put_notes(const row_notes& into, std::span<const float> values,
                         const row_memory_owner& owner) = 0;
  // Steps different rows, with the floats at gradients[i].
  virtual void step(std::span<const segment> segments, std::span<const row_number> rows,
                    std::span<const float* const> gradients) = 0;
  // out[i * dim, (i + 1) * dim) = values of from[i], and what is there where nothing is read.
  virtual void read(std::span<const row_source> from, float* out, row_memory_owner owner) = 0;
  // The state of each row, likewise.
  virtual void read_states(std::span<const row_number> rows, float* out,
                           row_memory_owner owner) = 0;
};

// Makes the engines of tables of one process, which it outlives.
class row_engines {
 public:
  virtual ~row_engines() = default;
  // Errors: those of row_engine::reserve().
  virtual expected<std::unique_ptr<row_engine>> make(const row_shape& shape) = 0;
};

}  // namespace tidegate::runtime
