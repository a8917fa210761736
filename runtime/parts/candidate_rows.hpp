// Ids that have been pushed, but not often enough to have a row: how often, and when last.
// Some 50 bytes for each, and 24 more when too many have been. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/status.hpp"
#include "runtime/parts/eviction.hpp"
#include "runtime/rows/row_table.hpp"

namespace tidegate::runtime {

class candidate_rows {
 public:
  // Of the table `name` of this seed, `limit` of them, at least 1; there may be lifetime_block
  // more within a step. Errors: io_error (no address space).
  static expected<candidate_rows> create(const std::string& name, std::uint64_t seed,
                                         std::uint64_t limit);

  // Counts a push of each of these ids, which are distinct, ascend, are lifetime_block at most,
  // and have no row. admitted[i] = 1 for those that have now been pushed `count` times: they
  // are candidates no longer. Errors: over_limit (ids that were chosen to fall into one place
  // of the index).
  status add(std::uint64_t clock, std::uint32_t count, std::span<const std::uint64_t> ids,
             std::span<std::uint8_t> admitted);
  // Forgets those that nobody has pushed for `unseen` clocks at `now`.
  void forget_unseen(std::uint64_t unseen, std::uint64_t now);

  std::uint64_t size() const noexcept { return counts_.size(); }
  // Appends all of them, ascending by id.
  void copy_to(std::vector<std::uint64_t>& ids, std::vector<row_use>& uses) const;
  // Takes over what another has copied. Errors: over_limit (more than there is room for).
  status put(std::span<const std::uint64_t> ids, std::span<const row_use> uses);

 private:
  candidate_rows(row_table counts, std::uint64_t limit)
      : counts_(std::move(counts)), limit_(limit) {}

  row_table counts_;  // rows without values that matter: of interest is their use
  std::uint64_t limit_;
  row_eviction eviction_;
  std::vector<float> zeros_;
  std::vector<row_number> numbers_;
  std::vector<std::uint64_t> ids_;
};

}  // namespace tidegate::runtime
