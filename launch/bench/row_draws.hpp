// Batches of ids as benchmarks of rows draw them, and the same rows in private memory, which is
// the roofline. One thread per object.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "launch/bench/huge_array.hpp"
#include "launch/bench/rows_bench.hpp"
#include "launch/bench/zipf.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/optimizers/optimizer.hpp"
#include "runtime/rows/row_slabs.hpp"

namespace tidegate::bench {

// Returns the id of row `number` of a table; rows have numbers below their count.
std::uint64_t id_of_row(std::uint64_t number) noexcept;

// AdaGrad, with which all rows are stepped.
runtime::optimizer_options rows_optimizer();

// The numbers of distinct rows, and their ids.
struct drawn_rows {
  std::vector<runtime::row_number> numbers;
  std::vector<std::uint64_t> ids;
};

class row_draws {
 public:
  // Draws among options.rows rows, options.batch of them, by options.zipf. Generators of
  // different seeds draw different batches.
  row_draws(const rows_options& options, std::uint64_t seed);

  // Rows that are drawn twice are in the batch once. Popular rows lie scattered, not side by
  // side.
  drawn_rows next();

 private:
  std::uint64_t rows_;
  std::uint32_t batch_;
  std::uint64_t scatter_ = 0x9e37'79b1;
  zipf popular_;
  runtime::rng random_;
};

// Rows whose numbers are known, in memory that nobody shares; all values and state are 0.
class bare_rows {
 public:
  explicit bare_rows(const rows_options& options);

  // Both take `dim` floats for each of the numbers, in their order.
  void gather(std::span<const runtime::row_number> numbers, std::span<float> out) const;
  void update(std::span<const runtime::row_number> numbers, std::span<const float> gradients);

 private:
  std::size_t dim_;
  std::size_t stride_;
  huge_array values_;
  huge_array states_;
  huge_array uses_;
  std::vector<const float*> gradients_;
};

}  // namespace tidegate::bench
