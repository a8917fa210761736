#include "tests/runtime/kernels/cuda/emulation.hpp"

#include <algorithm>
#include <cstdlib>

#include "runtime/kernels/cuda/dispatch.hpp"
#include "runtime/kernels/cuda/finite_body.hpp"
#include "runtime/kernels/cuda/row_body.hpp"
#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/tree.hpp"

namespace tidegate::tests {

namespace kernels = runtime::kernels;
namespace cuda = runtime::kernels::cuda;

void emulate(std::span<const kernels::gradient> inputs, const cuda::step_constants* constants,
             const kernels::chunk_arrays& arrays, kernels::gaps where) {
  const auto at = cuda::lay_out(arrays, inputs);
  const auto run = [&](const auto& sum, const auto& step) {
    using sum_type = std::decay_t<decltype(sum)>;
    using step_type = std::decay_t<decltype(step)>;
    const auto tiles = cuda::tiles_of<sum_type, step_type>(at);
    for (std::int64_t tile = 0; tile < tiles; ++tile)
      for (std::uint32_t thread = 0; thread < cuda::threads_per_block; ++thread)
        cuda::step_tile(sum, step, at, tile, thread);
  };
  if (where == kernels::gaps::possible)
    return cuda::visit_step(constants, [&](const auto& step) {
      run(cuda::gapped_sum{{cuda::make_plan(inputs)}}, cuda::around_gaps(step));
    });
  kernels::dense_inputs dense;
  if (!kernels::find_dense(inputs, dense))
    return cuda::visit_step(constants, [&](const auto& step) {
      run(cuda::planned_sum{{cuda::make_plan(inputs)}}, step);
    });
  switch (dense.type) {
    case kernels::element::float32:
      return cuda::visit_dense<kernels::element::float32>(dense, constants, run);
    case kernels::element::float16:
      return cuda::visit_dense<kernels::element::float16>(dense, constants, run);
    case kernels::element::bfloat16:
      return cuda::visit_dense<kernels::element::bfloat16>(dense, constants, run);
  }
}

std::uint64_t emulate_find(std::span<const float> numbers) {
  const std::uint64_t n = numbers.size();
  const auto threads = std::uint64_t{cuda::find_blocks(n)} * cuda::find_threads_per_block;
  std::uint64_t first = UINT64_MAX;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    const auto found = cuda::first_of_thread(numbers.data(), n, thread, threads);
    if (found < n) first = std::min(first, found);
  }
  return first;
}

void emulate_row_step(const kernels::row_constants& constants,
                      const kernels::row_columns& columns,
                      std::span<const kernels::row_addresses> rows) {
  const auto on_columns = [&](const auto& step) {
    for (const auto& row : rows)
      for (std::uint32_t column = 0; column < columns.columns; ++column)
        cuda::step_column(step, row, columns, column);
    return true;
  };
  const auto on_rows = [&](const auto& step) {
    for (const auto& row : rows) {
      kernels::squares sums{};
      for (std::uint32_t lane = 0; lane < cuda::lanes_per_warp; ++lane)
        sums[lane] = step.squares(row, columns, lane);
      const auto said = step.conclude(row, columns, kernels::total_of(sums));
      for (std::uint32_t lane = 0; lane < cuda::lanes_per_warp; ++lane)
        step.finish(row, columns, lane, said);
    }
    return true;
  };
  static_assert(cuda::lanes_per_warp == kernels::square_sums);
  if (!cuda::visit_row_step(constants, on_columns, on_rows, false)) std::abort();
}

void emulate_row_copy(std::span<const kernels::row_copy> rows, std::size_t floats,
                      bool is_aligned) {
  for (const auto& row : rows)
    for (std::uint32_t i = 0; i < (is_aligned ? floats / cuda::vector_elements : floats); ++i) {
      if (is_aligned)
        cuda::copy_unit<cuda::float_vector>(row, i);
      else
        cuda::copy_unit<float>(row, i);
    }
}

}  // namespace tidegate::tests
