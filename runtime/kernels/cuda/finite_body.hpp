// The body of the kernel in finite.cu, for CPU and GPU: the numbers that a thread looks at, and
// where it finds the first that is NaN or infinity. Pure, any thread.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/base/host_device.hpp"

namespace tidegate::runtime::kernels::cuda {

constexpr unsigned find_threads_per_block = 256;
constexpr unsigned find_blocks_max = 2048;  // some for each multiprocessor: they stride
// Numbers that a thread asks for before it looks at any: a look takes less time than a load.
constexpr unsigned find_numbers_at_once = 4;

// Returns how many blocks look at n numbers.
constexpr unsigned find_blocks(std::uint64_t n) noexcept {
  const auto wanted = (n + find_threads_per_block - 1) / find_threads_per_block;
  return wanted < find_blocks_max ? static_cast<unsigned>(wanted) : find_blocks_max;
}

// Returns true for NaN and infinity: all bits of the exponent are set.
TIDEGATE_HOST_DEVICE inline bool is_not_finite(float x) {
  constexpr std::uint32_t exponent = 0x7f80'0000;
#ifdef __CUDA_ARCH__
  const std::uint32_t bits = __float_as_uint(x);
#else
  const auto bits = std::bit_cast<std::uint32_t>(x);
#endif
  return (bits & exponent) == exponent;
}

// Returns the index of the first number that is not finite of those that this thread of
// `threads` looks at: every `threads`-th; n if all are.
TIDEGATE_HOST_DEVICE inline std::uint64_t first_of_thread(const float* numbers, std::uint64_t n,
                                                          std::uint64_t thread,
                                                          std::uint64_t threads) {
  auto i = thread;
  for (; i + (find_numbers_at_once - 1) * threads < n; i += find_numbers_at_once * threads) {
    float loaded[find_numbers_at_once];
    for (unsigned k = 0; k < find_numbers_at_once; ++k) loaded[k] = numbers[i + k * threads];
    bool is_found = false;  // in any: a branch for each would let the compiler load one by one
    for (unsigned k = 0; k < find_numbers_at_once; ++k) is_found |= is_not_finite(loaded[k]);
    if (is_found) break;
  }
  for (; i < n; i += threads)
    if (is_not_finite(numbers[i])) return i;
  return n;
}

}  // namespace tidegate::runtime::kernels::cuda
