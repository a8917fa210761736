#include "runtime/kernels/cuda/update.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/kernels/cuda/dispatch.hpp"
#include "runtime/kernels/cuda/launches.hpp"
#include "runtime/kernels/tree.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime::kernels::cuda {

namespace {

int queue_step(std::span<const gradient> inputs, const step_constants* constants,
               const chunk_arrays& arrays, gaps where, stream_handle stream) {
  TIDEGATE_ASSERT(!inputs.empty(), "something to sum");
  if (inputs.size() > plan_inputs_max) return error_invalid;
  const auto at = lay_out(arrays, inputs);
  if (where == gaps::possible) return launch_gapped(make_plan(inputs), constants, at, stream);
  dense_inputs dense;
  if (!find_dense(inputs, dense))
    return launch_planned(make_plan(inputs), constants, at, stream);
  switch (dense.type) {
    case element::float32:
      return launch_float32(dense, constants, at, stream);
    case element::float16:
      return launch_float16(dense, constants, at, stream);
    case element::bfloat16:
      return launch_bfloat16(dense, constants, at, stream);
  }
  return error_invalid;
}

}  // namespace

int queue_sum(std::span<const gradient> inputs, float* out, std::size_t n,
              stream_handle stream) {
  chunk_arrays arrays;
  arrays.after = out;
  arrays.n = n;
  return queue_step(inputs, nullptr, arrays, gaps::none, stream);
}

int queue_update(const optimizer& options, beta_powers& powers,
                 std::span<const gradient> inputs, float scale, const chunk_arrays& arrays,
                 stream_handle stream) {
  TIDEGATE_ASSERT(!arrays.sum || inputs.size() > 1, "one gradient is its own sum");
  auto next = powers;
  step_constants constants;
  constants.options = options;
  constants.rates = next_rates(options, traits_of(options.kind).corrects_bias, next);
  constants.scale = scale;
  const int error = queue_step(inputs, &constants, arrays, gaps_of(options), stream);
  if (error == error_none) powers = next;
  return error;
}

int queue_assign(std::span<const gradient> inputs, const chunk_arrays& arrays, gaps where,
                 stream_handle stream) {
  return queue_step(inputs, nullptr, arrays, where, stream);
}

}  // namespace tidegate::runtime::kernels::cuda
