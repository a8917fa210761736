// The kernel, and its launch. For the .cu files of this folder.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>
#include <limits>

#include "runtime/kernels/cuda/dispatch.hpp"
#include "runtime/kernels/cuda/tile.hpp"

namespace tidegate::runtime::kernels::cuda {

// Half of the threads of a multiprocessor at least, which is 64 registers of a thread at most.
constexpr unsigned blocks_per_multiprocessor = 4;

template <class Sum, class Step>
__global__ void __launch_bounds__(threads_per_block, blocks_per_multiprocessor)
    step_kernel(const __grid_constant__ Sum sum, const __grid_constant__ Step step,
                const __grid_constant__ tile_arrays at) {
  step_tile(sum, step, at, blockIdx.x, threadIdx.x);
}

// Returns CUDA's error number; cudaErrorInvalidValue for more tiles than a grid has blocks.
template <class Sum, class Step>
int launch(Sum sum, Step step, tile_arrays at, void* stream) {
  const auto tiles = tiles_of<Sum, Step>(at);
  if (tiles == 0) return cudaSuccess;
  if (tiles > std::numeric_limits<std::int32_t>::max()) return cudaErrorInvalidValue;
  void* arguments[] = {&sum, &step, &at};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&step_kernel<Sum, Step>),
                          dim3(static_cast<unsigned>(tiles)), dim3(threads_per_block),
                          arguments, 0, static_cast<cudaStream_t>(stream));
}

template <element Type>
int launch_dense(const dense_inputs& inputs, const step_constants* constants,
                 const tile_arrays& at, void* stream) {
  return visit_dense<Type>(inputs, constants, [&](const auto& sum, const auto& step) {
    return launch(sum, step, at, stream);
  });
}

}  // namespace tidegate::runtime::kernels::cuda
