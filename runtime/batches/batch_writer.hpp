// What a worker pushes, ids and gradients in any order, as one batch for each part of the
// table. Ids that come more than once in a push are summed first, in the order in which they
// come: a batch is a function of the push alone.
//
// The ids of a part are dealt to about as many buckets as there are ids, by where they lie
// between the least and the greatest (Knuth, volume 3, section 5.2.1, on address calculation),
// and buckets are sorted. That takes a few steps per id where ids are spread evenly, as hashes
// are, and no more than sorting where they are not. One thread. Once warm, nothing allocates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/optimizers/reduction.hpp"

namespace tidegate::runtime {

class batch_writer {
 public:
  // Takes in the ids of a push; those of the push before are forgotten. `parts`, `key`: see
  // part_of_row(). Takes less time if they are the same as before, as those are of a push that
  // follows a pull.
  void begin(std::span<const std::uint64_t> ids, std::uint64_t key, std::uint32_t parts);

  // Returns true if begin() was given these ids last.
  bool is_of(std::span<const std::uint64_t> ids) const {
    return !begins_.empty() && std::equal(ids.begin(), ids.end(), ids_.begin(), ids_.end());
  }
  // Returns how many rows the batch of a part has: its ids, each counted once.
  std::uint32_t rows_of(std::uint32_t part) const { return rows_[part]; }
  // Returns the ids of all batches together, each counted once.
  std::uint64_t rows() const noexcept { return rows_in_all_; }

  // Writes the ids of a part, rows_of(part) of them, ascending.
  void write_ids(std::uint32_t part, std::span<std::uint64_t> ids) const;
  // The reverse of write(): puts the values of a part's rows, in the order of write_ids(),
  // where their ids are in what begin() was given. `out`: `dim` values of each id.
  void scatter(std::uint32_t part, std::span<const float> values, std::uint32_t dim,
               std::span<float> out) const;

  // Calls visit(row, index) for each id of a part: the row-th of write_ids(), and the index-th
  // of what begin() was given.
  template <class Visit>
  void visit_ids(std::uint32_t part, const Visit& visit) const {
    std::uint32_t row = 0;
    for (auto i = begins_[part]; i < begins_[part + 1]; ++i) {
      if (i > begins_[part] && entries_[i].id != entries_[i - 1].id) ++row;
      visit(row, entries_[i].index);
    }
  }

  // Writes the batch of a part to memory of row_batch_bytes(rows_of(part), dim). `gradients`:
  // of each id of the push in turn, `dim` values. Those of equal ids become one by this
  // reduction, one after the other.
  void write(std::uint32_t part, std::span<const float> gradients, std::uint32_t dim,
             std::span<std::byte> memory, reduction by = reduction::sum) const;

 private:
  struct entry {
    std::uint64_t id = 0;
    std::uint32_t index = 0;  // in the push
    std::uint32_t part = 0;
  };

  void deal_to_parts(std::uint32_t parts);
  void sort_part(std::uint32_t part);
  void count_rows(std::uint32_t parts);

  std::vector<std::uint64_t> ids_;  // as begin() was given them
  std::uint64_t key_ = 0;
  std::vector<entry> entries_;  // by part, then id, then index
  std::vector<entry> spare_;
  std::vector<std::uint32_t> begins_;  // of parts among the entries, and their end
  std::vector<std::uint32_t> rows_;    // by part
  std::uint64_t rows_in_all_ = 0;
};

}  // namespace tidegate::runtime
