#include <cuda_runtime_api.h>
#include <type_traits>

#include "runtime/kernels/cuda/launch.cuh"
#include "runtime/kernels/cuda/row_body.hpp"
#include "runtime/kernels/cuda/rows.hpp"

namespace tidegate::runtime::kernels::cuda {

static_assert(lanes_per_warp == square_sums, "a lane has one of the numbers of total_of()");

namespace {

__device__ std::uint32_t thread_index() {
  return blockIdx.x * threads_per_block + threadIdx.x;
}

template <class Step>
__global__ void __launch_bounds__(threads_per_block, blocks_per_multiprocessor)
    column_kernel(const __grid_constant__ Step step, const row_columns at,
                  const row_addresses* rows, std::uint32_t count) {
  const auto i = thread_index();
  const auto row = i / at.columns;
  if (row < count) step_column(step, rows[row], at, i % at.columns);
}

// The order of total_of(): lane 0 has the sum of both halves, then of both quarters, and so on.
__device__ double total_of_warp(double x) {
  for (auto half = lanes_per_warp / 2; half > 0; half /= 2) x += __shfl_down_sync(~0U, x, half);
  return x;
}

template <class Row>
__global__ void __launch_bounds__(threads_per_block, blocks_per_multiprocessor)
    row_kernel(const __grid_constant__ Row step, const row_columns at,
               const row_addresses* rows, std::uint32_t count) {
  const auto row = thread_index() / lanes_per_warp;
  const auto lane = thread_index() % lanes_per_warp;
  if (row >= count) return;  // all of the warp
  const auto where = rows[row];
  const auto total = total_of_warp(step.squares(where, at, lane));
  float said = 0;
  if (lane == 0) said = step.conclude(where, at, total);
  step.finish(where, at, lane, __shfl_sync(~0U, said, 0));
}

template <class Unit>
__global__ void __launch_bounds__(threads_per_block)
    copy_kernel(const row_copy* rows, std::uint32_t count, std::uint32_t units) {
  const auto i = thread_index();
  const auto row = i / units;
  if (row < count) copy_unit<Unit>(rows[row], i % units);
}

int launch_threads(const void* kernel, std::size_t threads, void** arguments, void* stream) {
  const auto blocks = (threads + threads_per_block - 1) / threads_per_block;
  return cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(blocks)), dim3(threads_per_block),
                          arguments, 0, static_cast<cudaStream_t>(stream));
}

}  // namespace

int queue_row_step(const row_constants& constants, const row_columns& columns,
                   const row_addresses* rows, std::size_t count, stream_handle stream) {
  if (count == 0) return cudaSuccess;
  if (count * columns.columns > row_launch_floats_max ||
      count * lanes_per_warp > row_launch_floats_max)
    return cudaErrorInvalidValue;
  auto at = columns;
  auto rows_left = static_cast<std::uint32_t>(count);
  const auto queue = [&](const void* kernel, auto step, std::size_t threads) {
    void* arguments[] = {&step, &at, &rows, &rows_left};
    return launch_threads(kernel, threads, arguments, stream);
  };
  return visit_row_step(
      constants,
      [&](const auto& step) {
        using step_type = std::decay_t<decltype(step)>;
        return queue(reinterpret_cast<const void*>(&column_kernel<step_type>), step,
                     count * columns.columns);
      },
      [&](const auto& step) {
        using step_type = std::decay_t<decltype(step)>;
        return queue(reinterpret_cast<const void*>(&row_kernel<step_type>), step,
                     count * lanes_per_warp);
      },
      static_cast<int>(cudaErrorInvalidValue));
}

int queue_row_copy(const row_copy* rows, std::size_t count, std::size_t floats, bool is_aligned,
                   stream_handle stream) {
  if (count == 0 || floats == 0) return cudaSuccess;
  if (count * floats > row_launch_floats_max) return cudaErrorInvalidValue;
  auto rows_left = static_cast<std::uint32_t>(count);
  auto units = static_cast<std::uint32_t>(is_aligned ? floats / vector_elements : floats);
  void* arguments[] = {&rows, &rows_left, &units};
  const auto* const kernel = is_aligned
                                 ? reinterpret_cast<const void*>(&copy_kernel<float_vector>)
                                 : reinterpret_cast<const void*>(&copy_kernel<float>);
  return launch_threads(kernel, count * units, arguments, stream);
}

}  // namespace tidegate::runtime::kernels::cuda
