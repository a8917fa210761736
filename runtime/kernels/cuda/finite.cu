#include <cuda_runtime_api.h>
#include <limits>

#include "runtime/kernels/cuda/finite.hpp"

namespace tidegate::runtime::kernels::cuda {

namespace {

constexpr unsigned threads = 256;
constexpr unsigned blocks_max = 2048;  // a few of each multiprocessor: they stride
constexpr std::uint32_t exponent = 0x7f80'0000;

__global__ void __launch_bounds__(threads)
    find_kernel(const std::uint32_t* bits, std::uint64_t n, unsigned long long* first) {
  const auto stride = static_cast<std::uint64_t>(gridDim.x) * threads;
  for (auto i = static_cast<std::uint64_t>(blockIdx.x) * threads + threadIdx.x; i < n;
       i += stride) {
    if ((__ldg(bits + i) & exponent) != exponent) continue;
    atomicMin(first, static_cast<unsigned long long>(i));
    return;  // later ones of this thread are of no interest
  }
}

}  // namespace

int queue_find_not_finite(const float* numbers, std::size_t n, std::uint64_t* first,
                          stream_handle stream) {
  auto* const on = static_cast<cudaStream_t>(stream);
  if (const auto error = cudaMemsetAsync(first, 0xff, sizeof *first, on); error != cudaSuccess)
    return error;
  if (n == 0) return cudaSuccess;
  const auto wanted = (n + threads - 1) / threads;
  const auto blocks = wanted < blocks_max ? static_cast<unsigned>(wanted) : blocks_max;
  const auto* bits = reinterpret_cast<const std::uint32_t*>(numbers);
  auto count = static_cast<std::uint64_t>(n);
  void* arguments[] = {&bits, &count, &first};
  return cudaLaunchKernel(reinterpret_cast<const void*>(&find_kernel), dim3(blocks),
                          dim3(threads), arguments, 0, on);
}

}  // namespace tidegate::runtime::kernels::cuda
