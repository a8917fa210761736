// What some rows of a table must be after all pushes of all workers: each pushes a gradient of
// ones for each row of its batch, and the sum steps AdaGrad from 0. One thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "launch/bench/row_draws.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::bench {

class rows_reference {
 public:
  explicit rows_reference(const rows_options& options);

  // Of the rows that are compared.
  const std::vector<std::uint64_t>& ids() const noexcept { return ids_; }

  // A clock in which each row of the table is pushed by one worker, whichever that is.
  void step_all();
  // A clock in which these batches are pushed, one of each worker.
  void step(std::span<const drawn_rows> batches);

  // Compares dim values of each of ids(). Errors: corrupt (the first that is wrong).
  runtime::status check(std::span<const float> values) const;

 private:
  // Steps rows of which `pushes` workers have pushed each.
  void step(std::span<const runtime::row_number> own, std::uint32_t pushes);

  std::uint32_t dim_;
  std::uint32_t every_;  // rows of the table for each that is compared
  bare_rows rows_;       // a row of the table of number n * every_ has number n here
  std::vector<std::uint64_t> ids_;
  std::vector<runtime::row_number> all_;
};

}  // namespace tidegate::bench
