#include <cuda_runtime_api.h>

#include "runtime/kernels/cuda/finite.hpp"
#include "runtime/kernels/cuda/finite_body.hpp"

namespace tidegate::runtime::kernels::cuda {

namespace {

__global__ void __launch_bounds__(find_threads_per_block)
    find_kernel(const float* numbers, std::uint64_t n, unsigned long long* first) {
  const auto threads = static_cast<std::uint64_t>(gridDim.x) * find_threads_per_block;
  const auto thread =
      static_cast<std::uint64_t>(blockIdx.x) * find_threads_per_block + threadIdx.x;
  const auto found = first_of_thread(numbers, n, thread, threads);
  if (found < n) atomicMin(first, static_cast<unsigned long long>(found));
}

}  // namespace

int queue_find_not_finite(const float* numbers, std::size_t n, std::uint64_t* first,
                          stream_handle stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  if (const auto error = cudaMemsetAsync(first, 0xff, sizeof *first, on); error != cudaSuccess)
    return error;
  if (n == 0) return cudaSuccess;
  static_assert(sizeof(unsigned long long) == sizeof *first);
  auto count = static_cast<std::uint64_t>(n);
  void* arguments[] = {&numbers, &count, &first};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&find_kernel), dim3(find_blocks(n)),
                          dim3(find_threads_per_block), arguments, 0, on);
}

}  // namespace tidegate::runtime::kernels::cuda
