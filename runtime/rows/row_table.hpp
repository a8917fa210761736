// The rows of a sparse table: an index, their values and optimizer state, in one segment of
// shared memory that readers of the same host map (row_reader.hpp).
//
// A row is made at its first push or when find_or_create() is asked for it, with the initial
// values of its id; a pull makes none. Address space for the greatest number of rows is taken
// at once, and memory as rows are made. What erased rows had is used again by rows that are
// made later, and not given back.
//
// Where rows are more than fit memory, values and states lie in a file, of which as much is in
// memory as a row_memory says; or they lie with an engine, as on a device (row_engine.hpp), and
// nobody else reads them. Index, ids and uses are in memory. The bits do not depend on it.
//
// One thread writes; others may read as row_view.hpp says. The table owns its memory; readers
// keep the pages when it goes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/status.hpp"
#include "runtime/kernels/row_optimizer.hpp"
#include "runtime/memory/segment.hpp"
#include "runtime/rows/initial_values.hpp"
#include "runtime/rows/page_maker.hpp"
#include "runtime/rows/pages_ahead.hpp"
#include "runtime/rows/row_engine.hpp"
#include "runtime/rows/row_file.hpp"
#include "runtime/rows/row_index.hpp"
#include "runtime/rows/row_memory.hpp"
#include "runtime/rows/row_view.hpp"

namespace tidegate::runtime {

// Columns of each row, side by side, with an optimizer and first values of their own. A group
// of columns that an optimizer looks at together is those of a segment.
struct row_segment {
  std::uint32_t columns = 0;
  optimizer_options optimizer;
  initial_kind initial = initial_kind::uniform;
  float initial_scale = 0.01F;
};

struct row_table_options {
  std::string name;
  std::uint64_t seed = 1;
  std::uint64_t capacity = 0;  // rows at most
  std::uint32_t dim = 0;       // values of a row
  optimizer_options optimizer;
  initial_kind initial = initial_kind::uniform;
  float initial_scale = 0.01F;
  // Of a row, in the order of its columns, in place of the optimizer and initial values above;
  // at most limits::row_segments_max. None: all columns are one.
  std::vector<row_segment> segments = {};
  // How far its pages are asked for ahead, in [0, 1): tables that grow alike have others, so
  // that they do not all ask at the same time (pages_ahead.hpp).
  double page_lead = 0;
  // Where values and states lie in a file: the memory that they share with other parts. Null:
  // all is in memory.
  std::shared_ptr<row_memory> memory = nullptr;
  // Where values and states lie with an engine: what makes it, which outlives the table. Null:
  // they do not.
  row_engines* engines = nullptr;
};

// What another process of this host needs to read a table in place.
struct row_place {
  segment_name segment;
  row_shape shape;
  initial_row initial;

  friend bool operator==(const row_place&, const row_place&) = default;
};

class row_table {
 public:
  // Errors: invalid_argument (a number out of its range), io_error (no address space, or no
  // file).
  static expected<row_table> create(const row_table_options& options);

  // rows[i] is the number of the row ids[i], which is made if it does not exist. Returns how
  // many were made. Ids may repeat. Errors: over_limit (the table is full), no_space and
  // io_error (its file); then nothing has changed.
  expected<std::size_t> find_or_create(std::span<const std::uint64_t> ids,
                                       std::span<row_number> rows);

  // What rows were before a step: `values` of each id of the batch, and is_new[i] = 1 if the
  // step makes the row ids[i]. Empty where that is not wanted.
  struct before_step {
    std::span<float> values = {};
    std::span<std::uint8_t> is_new = {};
    std::optional<row_notes> notes = {};  // in place of values, where an engine has them
  };
  // One optimizer step of the row of each id, with the `dim` floats at gradients[i]. The ids
  // are distinct: an id that repeats would be stepped twice. Rows that do not exist are made.
  // Errors: those of find_or_create(), and then nothing has changed; io_error (its file could
  // not be written, and the table is of no use any more). Allocates only where a batch is
  // larger than all before.
  status update(const row_step& step, std::span<const std::uint64_t> ids,
                std::span<const float* const> gradients, const before_step& before);
  // Likewise, with gradients[i * dim, (i + 1) * dim).
  status update(const row_step& step, std::span<const std::uint64_t> ids,
                std::span<const float> gradients);

  // Makes or overwrites rows with all that a row has, as it was in another table of this shape:
  // of ids[i] values [i * dim, (i + 1) * dim), as much state as the optimizer has, and its use.
  // The ids are distinct. Errors: those of find_or_create(); then nothing has changed.
  // `owner` keeps values and states, which an engine reads later.
  status put(std::span<const std::uint64_t> ids, std::span<const float> values,
             std::span<const float> states, std::span<const row_use> uses,
             const row_memory_owner& owner = {});

  // Notes the values of rows, which all exist, with the engine. Errors: no_space, unavailable;
  // then nothing has changed.
  status note(std::span<const std::uint64_t> ids, const row_notes& into);

  // Returns how many of the ids had a row.
  std::size_t erase(std::span<const std::uint64_t> ids);

  // Gives the descriptor of its memory back: nobody else can map it any more.
  void hide() noexcept { memory_->hide(); }
  // Makes the pages that so many more rows need, but for those that were asked of another
  // thread before: 0.3 to some 10 ms for each 2 MiB. For an owner that has nothing else to do.
  void prepare(std::uint64_t rows);

  // Valid as long as the table, and where it is moved to.
  row_view view() const noexcept;
  row_place place() const noexcept;
  const row_shape& shape() const noexcept { return layout_.shape; }
  const initial_row& initial() const noexcept { return initial_; }
  // The values of the row ids[i], as row_view::gather().
  void gather(std::span<const std::uint64_t> ids, std::span<float> out) const;

  // Calls work(first, count) for blocks of rows, one after the other: their values and states
  // are in memory then, or about to be. What goes over most rows goes through this, best by
  // ascending numbers; where all is in memory there is one block.
  template <class Work>
  void scan_rows(std::span<const row_number> rows, const Work& work) const {
    in_blocks(rows, row_file::access::scans, work);
  }
  // Rows of these ids are about to be read by somebody else: brings them into memory.
  void expect_reads(std::span<const std::uint64_t> ids) const;
  bool lies_in_file() const noexcept { return file_ != nullptr; }
  // Null where the table has the floats itself.
  row_engine* engine() const noexcept { return engine_.get(); }
  std::uint64_t size() const noexcept { return index_.view().size(); }
  // hash_of_rows().
  std::string hash() const {
    TIDEGATE_ASSERT(engine_ == nullptr, "an engine is asked for its values");
    return hash_of_rows(view());
  }

 private:
  row_table(segment memory, std::unique_ptr<row_file> file, std::unique_ptr<row_engine> engine,
            const row_layout& layout, const row_table_options& options);

  // As scan_rows().
  template <class Work>
  void in_blocks(std::span<const row_number> rows, row_file::access kind,
                 const Work& work) const {
    if (file_ == nullptr) {
      if (!rows.empty()) work(std::size_t{0}, rows.size());
      return;
    }
    const auto most = file_->block_rows();
    const auto block = [&](std::size_t first) {
      return rows.subspan(first, std::min(most, rows.size() - first));
    };
    if (!rows.empty()) file_->use(block(0), kind);
    for (std::size_t first = 0; first < rows.size(); first += most) {
      if (first + most < rows.size()) file_->use(block(first + most), kind);
      work(first, block(first).size());
      file_->end_use(kind);
    }
  }

  // What new rows begin with: first values and no state, or what the caller writes.
  enum class beginning : std::uint8_t { initial, of_caller };
  expected<std::size_t> make_rows(std::span<const std::uint64_t> ids,
                                  std::span<row_number> rows, beginning from);
  void begin_new(std::span<const std::uint64_t> ids, std::span<const row_number> rows,
                 std::span<const std::uint8_t> added);
  void write_new(std::span<const std::uint64_t> ids, std::span<const row_number> rows,
                 std::span<const std::uint8_t> added);
  void write_new_with_engine(std::span<const std::uint64_t> ids,
                             std::span<const row_number> rows,
                             std::span<const std::uint8_t> added);
  void prepare_index(std::uint64_t ids);
  void reach(rows::pages_ahead& pages, std::uint64_t offset) {
    pages.reach(memory_, offset, *page_maker_);
  }
  // Errors: those of row_file::reserve.
  status prepare_rows(std::uint64_t rows);

  // Where the columns and the state of a segment lie in those of a row.
  struct placed_segment {
    row_segment options;
    std::size_t column = 0;
    std::size_t state = 0;
  };
  static std::vector<placed_segment> place_segments(const row_table_options& options);
  static initial_row initial_of(const row_table_options& options);
  static std::uint32_t state_floats(const row_table_options& options);
  // Steps all segments of these rows, as coefficients_ say: of a block, and of so few rows that
  // they stay in the caches from one segment to the next.
  void step_block(std::uint64_t clock, std::span<const row_number> rows,
                  std::span<const float* const> gradients, std::span<float> before);
  void step_rows(std::uint64_t clock, std::span<const row_number> rows,
                 std::span<const float* const> gradients, std::span<float> before);
  void step_with_engine(std::uint64_t clock, std::span<const row_number> rows,
                        std::span<const float* const> gradients, const before_step& before);
  // Says what has no room, and what to do.
  status no_room(const status& why) const;

  std::shared_ptr<segment> memory_;
  std::unique_ptr<row_file> file_;      // of values and states, over memory_; null: none
  std::unique_ptr<row_engine> engine_;  // likewise
  std::string name_;
  row_layout layout_;
  std::vector<placed_segment> segments_;
  initial_row initial_;
  row_index index_;
  row_slabs slabs_;
  std::shared_ptr<rows::page_maker> page_maker_ = rows::page_maker::of_process();
  rows::pages_ahead bucket_pages_;
  rows::pages_ahead value_pages_;
  rows::pages_ahead state_pages_;
  rows::pages_ahead id_pages_;
  rows::pages_ahead use_pages_;
  std::vector<row_number> rows_;           // of a batch
  mutable std::vector<row_number> reads_;  // of a batch that is read, from a file
  std::vector<std::uint8_t> added_;
  std::vector<const float*> gradients_;
  std::vector<row_coefficients> coefficients_;  // of a step, by segment
  std::vector<row_engine::segment> stepped_;    // likewise, with an engine
  std::vector<row_number> new_rows_;            // likewise
  std::vector<float> new_values_;
};

}  // namespace tidegate::runtime
