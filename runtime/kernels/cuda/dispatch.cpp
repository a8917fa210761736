#include "runtime/kernels/cuda/dispatch.hpp"

namespace tidegate::runtime::kernels::cuda {

namespace {

std::int32_t phase_of(const void* data, std::size_t bytes) {
  return static_cast<std::int32_t>(reinterpret_cast<std::uintptr_t>(data) / bytes %
                                   vector_elements);
}

}  // namespace

tile_arrays lay_out(const chunk_arrays& arrays, std::span<const gradient> inputs) {
  tile_arrays at{.before = arrays.before,
                 .after = arrays.after,
                 .state1 = arrays.state1,
                 .state2 = arrays.state2,
                 .sum = arrays.sum,
                 .n = static_cast<std::int64_t>(arrays.n)};
  const auto phase = phase_of(at.after, sizeof(float));
  at.is_aligned = true;
  for (const float* data :
       {at.before, static_cast<const float*>(at.state1), static_cast<const float*>(at.state2),
        static_cast<const float*>(at.sum)})
    if (data != nullptr && phase_of(data, sizeof(float)) != phase) at.is_aligned = false;
  for (const auto& input : inputs)
    if (phase_of(input.data, size_of(input.type)) != phase) at.is_aligned = false;
  if (at.is_aligned) at.phase = phase;
  return at;
}

}  // namespace tidegate::runtime::kernels::cuda
