#include "tests/runtime/kernels/cuda/emulation.hpp"

#include <algorithm>

#include "runtime/kernels/cuda/dispatch.hpp"
#include "runtime/kernels/cuda/finite_body.hpp"
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

}  // namespace tidegate::tests
