// One part of a table of rows, as the process that owns it keeps it: the rows (runtime/rows),
// what the last steps have changed, and the sums of steps for a replica. Steps are made in
// place; readers of versions before are shown what was there.
//
// A version lies in a version buffer (policies/shard/effects.hpp). Here such a buffer is a
// name: a step from one name to another keeps the rows that it changes as they were, and what
// the names of the last few versions meant is read by putting these back.
//
// Rows come and go as their lifetime says (row_lifetime.hpp): within a step those go that
// nobody pushes, then ids are counted, rows made and stepped, and those go that are too many.
// It follows from the steps alone, so a replica that makes the same steps has the same rows.
//
// Where values and states lie with an engine (runtime/rows/row_engine.hpp), as on a device, a
// step reads gradients later where they are lent, and what is read is there when the work of
// the engine has ended. Then nobody visits rows, and answers are no leases.
//
// One thread. Once warm, steps allocate nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/status.hpp"
#include "runtime/batches/batch_merger.hpp"
#include "runtime/batches/row_request.hpp"
#include "runtime/parts/cache_lines.hpp"
#include "runtime/parts/candidate_rows.hpp"
#include "runtime/parts/eviction.hpp"
#include "runtime/parts/row_image.hpp"
#include "runtime/parts/row_versions.hpp"
#include "runtime/rows/row_table.hpp"

namespace tidegate::runtime {

struct row_part_options {
  row_table_options rows;
  row_lifetime lifetime = {};  // of this part: numbers of rows are those of the part
  std::uint32_t keeps = 0;     // versions before the current one that may be read
};

class row_part {
 public:
  static constexpr std::size_t sums_kept = 2;  // by clock

  // `options.rows.capacity` is more than the rows that its lifetime leaves, by lifetime_block.
  // Errors: those of row_table::create.
  static expected<row_part> create(const row_part_options& options);

  struct step {
    row_step options;
    std::uint32_t from = 0;  // version buffers
    std::uint32_t to = 0;
    bool keeps_sum = false;
  };
  // Makes one step of the rows of these batches, which ascend in rank; reads the batches until
  // it returns. Errors: over_limit, no_space (no room for rows), io_error, unavailable (what
  // they lie in is lost): then rows may be missing, and the part is of no use any more.
  status apply(const step& next, std::span<const batch_merger::input> batches);

  // Returns the sum of the squares of scale times what apply() would sum up, in float64: rows
  // ascending by id, each dealt to as many numbers as kernels::square_sums says, in turn, which
  // are summed in a tree in the end. Rows that are not admitted count, too.
  double measure(std::span<const batch_merger::input> batches, float scale);

  // The sum of a step that was kept, as a batch, until the next but one.
  std::span<const std::byte> sum_of(std::uint64_t clock) const {
    const auto other = is_planted(planted_bug::row_sum_of_another_clock) ? 1U : 0U;
    return sums_[(clock + other) % sums_kept].bytes();
  }
  // Keeps the batch of a step with a single one.
  void keep_sum(std::uint64_t clock, std::span<const std::byte> batch);

  // Returns how many bytes the answer to a request takes at most.
  std::uint64_t answer_bytes(const row_request& request) const;
  // Answers a request, no call, as of this version buffer, that of the current version or one
  // that is kept; with a lease on the current version where the request lets it and values
  // would be longer; with changes that may be fewer only of the current version, and since a
  // mark of this part. `into`: answer_bytes(request), aligned as batches are. Returns the bytes
  // written. `owner` keeps the memory that an engine writes later.
  std::size_t answer(std::uint32_t version_buffer, const row_request& request,
                     std::span<std::byte> into, const row_memory_owner& owner = {}) const;

  // out[i * dim, (i + 1) * dim) = the values of the row ids[i] as of this version buffer; the
  // ids ascend.
  void gather(std::uint32_t version_buffer, std::span<const std::uint64_t> ids,
              std::span<float> out, const row_memory_owner& owner = {}) const;

  // Returns the ids of the rows that there are as of this version buffer, ascending.
  std::vector<std::uint64_t> ids_of(std::uint32_t version_buffer) const;

  // A row of the current version, in the memory of the table.
  struct row_values {
    std::uint64_t id = 0;
    std::span<const float> values;
    std::span<const float> state;
    const row_use& use;
  };
  // Calls visit(i, row) for each of rows(), the i-th by id; ascending, but where rows lie in a
  // file in their order there.
  template <class Visit>
  void visit_rows(const Visit& visit) const {
    TIDEGATE_ASSERT(table_.engine() == nullptr, "an engine is asked for its values");
    const auto& slabs = table_.view().slabs();
    const auto& all = sorted_rows();
    if (!table_.lies_in_file()) {
      for (std::size_t i = 0; i < all.size(); ++i)
        visit(i, row_values{.id = all[i].id,
                            .values = {slabs.values(all[i].number), dim()},
                            .state = {slabs.state(all[i].number), state_floats()},
                            .use = slabs.use(all[i].number)});
      return;
    }
    const auto places = places_by_number();
    std::vector<row_number> numbers(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) numbers[i] = all[places[i]].number;
    table_.scan_rows(numbers, [&](std::size_t first, std::size_t count) {
      for (auto i = first; i < first + count; ++i)
        visit(places[i], row_values{.id = all[places[i]].id,
                                    .values = {slabs.values(numbers[i]), dim()},
                                    .state = {slabs.state(numbers[i]), state_floats()},
                                    .use = slabs.use(numbers[i])});
    });
  }
  // Calls visit(id, use) for each of rows(), ascending by id.
  template <class Visit>
  void visit_uses(const Visit& visit) const {
    const auto& slabs = table_.view().slabs();
    for (const auto& [id, number] : sorted_rows()) visit(id, slabs.use(number));
  }

  // Copies the values, or the states, of the rows whose last push is of this clock or a later
  // one, ascending by id. `owner` keeps the memory.
  void copy_values(std::uint64_t since, std::span<float> to,
                   const row_memory_owner& owner) const;
  void copy_states(std::uint64_t since, std::span<float> to,
                   const row_memory_owner& owner) const;

  // Returns all rows of the current version, which `current` names, and what is kept of the
  // versions that `kept` names, the newest first.
  // Floats that lie with an engine are 0 there, until read_image() of the same part, before any
  // other step, has put them into the image's bytes.
  row_image image(std::uint32_t current, std::span<const std::uint32_t> kept) const;
  void read_image(std::span<const std::uint32_t> kept, const image_floats& into,
                  const row_memory_owner& owner) const;
  // Becomes what the image is of, which another process has given. `current` and `kept` are
  // the names that versions have from now on. Errors: over_limit, no_space, io_error; corrupt
  // (an image of another shape).
  status restore(row_image image, std::uint32_t current, std::span<const std::uint32_t> kept);

  // Appends the ids whose pushes are counted, ascending, and their counts.
  void copy_candidates(std::vector<std::uint64_t>& ids, std::vector<row_use>& uses) const {
    if (candidates_) candidates_->copy_to(ids, uses);
  }
  std::uint64_t candidates() const noexcept { return candidates_ ? candidates_->size() : 0; }
  std::uint64_t clock() const noexcept { return clock_; }  // the latest of the steps made

  std::uint64_t rows() const noexcept { return table_.size(); }
  std::uint32_t dim() const noexcept { return options_.rows.dim; }
  const optimizer_options& optimizer() const noexcept { return options_.rows.optimizer; }
  std::uint32_t state_floats() const noexcept { return table_.shape().state_floats; }
  const row_table& table() const noexcept { return table_; }

 private:
  // Rows that are merged and stepped at a time.
  static constexpr std::size_t block_rows = lifetime_block;

  row_part(const row_part_options& options, row_table table,
           std::optional<candidate_rows> candidates)
      : options_(options),
        table_(std::move(table)),
        candidates_(std::move(candidates)),
        versions_(options.keeps, options.rows.dim,
                  table_.engine() == nullptr ? row_versions::values_lie::here
                                             : row_versions::values_lie::with_engine) {}

  // Calls visit(ids, gradients) for blocks of the rows of these batches, ascending by id.
  template <class Visit>
  status visit_sums(std::span<const batch_merger::input> batches, const Visit& visit);
  static std::uint64_t draw_history();
  status sum_and_update(const step& next, std::span<const batch_merger::input> batches);
  // gradients[i] is where that of ids[i] lies.
  status update(const row_step& step, std::span<const std::uint64_t> ids,
                std::span<const float* const> gradients);
  status update_block(const row_step& step, std::span<const std::uint64_t> ids,
                      std::span<const float* const> gradients);
  // Returns where each of these rows lies, until the next call.
  std::span<const float* const> rows_of(std::span<const float> values);
  // A block of a step. admit() takes out what is pushed of ids that have no row and are not
  // admitted with this step.
  struct admitted_rows {
    std::span<const std::uint64_t> ids;
    std::span<const float* const> gradients;
  };
  status admit(admitted_rows& block);
  status evict(const std::vector<std::uint64_t>& ids);
  status evict_unseen(std::uint64_t before);
  struct sorted_row {
    std::uint64_t id = 0;
    row_number number = 0;
  };
  // Ascending, of the current version; sorted anew after a step.
  const std::vector<sorted_row>& sorted_rows() const;
  // Of sorted_rows(), in the order in which visit_rows() goes over them.
  std::vector<std::size_t> places_by_number() const;
  bool may_lease(std::uint32_t version_buffer, const row_request& request) const;
  std::size_t changes(std::uint32_t version_buffer, const row_request& request,
                      std::span<std::byte> into, const row_memory_owner& owner) const;
  bool has_changed(row_number row, const row_mark& since) const;
  std::size_t scan(std::uint32_t version_buffer, const row_request& request,
                   std::span<std::byte> into, const row_memory_owner& owner) const;
  void gather_from_engine(std::uint32_t version_buffer, std::span<const std::uint64_t> ids,
                          std::span<float> out, const row_memory_owner& owner) const;
  void fill_floats(row_image& image) const;
  // Numbers of the rows whose last push is of this clock or a later one, ascending by id.
  std::span<const row_number> rows_since(std::uint64_t clock) const;

  row_part_options options_;
  row_table table_;
  std::optional<candidate_rows> candidates_;  // where rows are not made at their first push
  row_eviction eviction_;
  std::uint64_t clock_ = 0;
  std::uint64_t history_ = draw_history();  // see row_mark
  row_versions versions_;
  // Of an answer with changes.
  mutable std::vector<std::uint64_t> changed_ids_;
  mutable std::vector<row_number> changed_numbers_;
  mutable std::vector<std::uint64_t> changed_bits_;
  mutable std::vector<row_source> sources_;    // of what an engine reads
  mutable std::vector<row_number> read_rows_;  // likewise
  mutable std::vector<sorted_row> sorted_;     // see sorted_rows()
  mutable bool is_sorted_ = false;
  cache_lines sums_[sums_kept];
  batch_merger merger_;
  std::vector<std::uint64_t> ids_;  // of a block
  std::vector<float> values_;
  std::vector<const float*> gradients_;
  std::vector<row_number> numbers_;
  std::vector<std::uint64_t> new_ids_;  // of a block: those without a row
  std::vector<std::uint8_t> admitted_;
  std::vector<std::uint64_t> admitted_ids_;
  std::vector<const float*> admitted_gradients_;
};

}  // namespace tidegate::runtime
