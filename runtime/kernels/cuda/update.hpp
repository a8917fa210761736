// The calls of runtime/kernels/update.hpp on a GPU, with the same bits: sum of the workers'
// gradients along the canonical tree and one optimizer step, in one pass over memory.
//
// A call queues one kernel on a stream and returns; all memory is the caller's, reachable from
// the device, and stays as it is until the kernel has ended. Nothing is allocated. Arrays are
// aligned to their elements. Where all begin at the same distance from a multiple of four
// elements, 16 bytes go through memory at a time; otherwise the bits are the same and the time
// is not. What update.hpp says of overlaps holds here.
//
// The bits are the CPU's: one source (tile.hpp and runtime/optimizers), float32 arithmetic that
// IEEE 754 rounds in one way, never fused, no flushing of subnormals. Only a NaN has bits of
// its own.
//
// Any thread, with the device of the stream current. A call returns CUDA's error number, 0 for
// success; an error of an earlier call on the device may be among them.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/kernels/cuda/sum_plan.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::kernels::cuda {

using stream_handle = void*;  // a cudaStream_t; null: the default stream

constexpr int error_none = 0;
constexpr int error_invalid = 1;  // cudaErrorInvalidValue: more than plan_inputs_max inputs

// Queues tree_sum(inputs, out, n).
[[nodiscard]] int queue_sum(std::span<const gradient> inputs, float* out, std::size_t n,
                            stream_handle stream);

// Queues apply_update(). `powers` move on if it was queued.
[[nodiscard]] int queue_update(const optimizer& options, beta_powers& powers,
                               std::span<const gradient> inputs, float scale,
                               const chunk_arrays& arrays, stream_handle stream);

// Queues assign_sum().
[[nodiscard]] int queue_assign(std::span<const gradient> inputs, const chunk_arrays& arrays,
                               gaps where, stream_handle stream);

// Returns CUDA's words for an error number; valid for ever.
const char* error_text(int number) noexcept;

}  // namespace tidegate::runtime::kernels::cuda
