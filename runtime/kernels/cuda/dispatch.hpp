// From a step of update.hpp to the body that makes it: internal to this folder and its tests.
// Pure functions, any thread. A visitor gets the sum and the step as values whose types say
// all that a kernel is compiled for; one that launches lives in a .cu file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/cuda/tile.hpp"
#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime::kernels::cuda {

// Returns the arrays with the phase that they and the inputs share, if they do.
tile_arrays lay_out(const chunk_arrays& arrays, std::span<const gradient> inputs);

// Calls visitor(step). Without constants it is the sum alone.
template <class Visitor>
auto visit_step(const step_constants* constants, const Visitor& visitor) {
  if (constants == nullptr) return visitor(sum_step());
  return visit_optimizer(constants->options.kind, [&](auto optimizer) {
    return visitor(optimizer_step<decltype(optimizer)>{*constants});
  });
}

template <class Step>
step_around_gaps<Step> around_gaps(const Step& step) {
  return {step};
}

template <element Type, std::size_t Count, class Visitor>
auto visit_count(const dense_inputs& inputs, const Visitor& visitor) {
  if constexpr (Count < fused_inputs_max) {
    if (inputs.count != Count) return visit_count<Type, Count + 1>(inputs, visitor);
  }
  constexpr auto count = is_fused(Type, Count) ? Count : 1;
  TIDEGATE_ASSERT(inputs.count == count, "there is a kernel for these inputs");
  dense_sum<Type, count> sum{};
  for (std::size_t k = 0; k < count; ++k)
    sum.data[k] = static_cast<const stored<Type>*>(inputs.data[k]);
  return visitor(sum);
}

// Calls visitor(sum, step) for inputs of this type, of a number with is_fused().
template <element Type, class Visitor>
auto visit_dense(const dense_inputs& inputs, const step_constants* constants,
                 const Visitor& visitor) {
  return visit_step(constants, [&](const auto& step) {
    return visit_count<Type, 1>(inputs, [&](const auto& sum) { return visitor(sum, step); });
  });
}

// Returns how many blocks the tiles of a chunk need.
template <class Sum, class Step>
constexpr std::int64_t tiles_of(const tile_arrays& at) {
  constexpr auto elements = tile_elements<Sum, Step>;
  return (at.n + at.phase + elements - 1) / elements;
}

}  // namespace tidegate::runtime::kernels::cuda
