// The body of the kernel in finite.cu, for CPU and GPU: the numbers that a thread looks at, and
// where it finds the first that is NaN or infinity. Pure, any thread.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/base/host_device.hpp"
#include "runtime/kernels/cuda/elements.hpp"

namespace tidegate::runtime::kernels::cuda {

constexpr unsigned find_threads_per_block = 256;
constexpr unsigned find_blocks_max = 2048;  // some for each multiprocessor: they stride
// Vectors that a thread asks for before it looks at any: a look takes less time than a load.
constexpr unsigned find_vectors_at_once = 4;

// Returns how many blocks look at n numbers.
constexpr unsigned find_blocks(std::uint64_t n) noexcept {
  const auto wanted = n / (find_threads_per_block * vector_elements) + 1;
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

// Returns how many numbers lie before the first aligned vector: they are looked at alone.
TIDEGATE_HOST_DEVICE inline std::uint64_t numbers_before_vectors(const float* numbers,
                                                                 std::uint64_t n) {
  const auto past = reinterpret_cast<std::uintptr_t>(numbers) / sizeof(float) % vector_elements;
  const auto before = (vector_elements - past) % vector_elements;
  return before < n ? before : n;
}

// Returns the index of the first number that is not finite of those that this thread of
// `threads` looks at: every `threads`-th vector, and of the numbers before and behind them
// every `threads`-th; n if all are finite.
TIDEGATE_HOST_DEVICE inline std::uint64_t first_of_thread(const float* numbers, std::uint64_t n,
                                                          std::uint64_t thread,
                                                          std::uint64_t threads) {
  const auto before = numbers_before_vectors(numbers, n);
  for (auto i = thread; i < before; i += threads)
    if (is_not_finite(numbers[i])) return i;
  const auto* const vectors = numbers + before;
  const auto count = (n - before) / vector_elements;
  auto i = thread;
  for (; i + (find_vectors_at_once - 1) * threads < count;
       i += find_vectors_at_once * threads) {
    float_vector loaded[find_vectors_at_once];
    for (unsigned k = 0; k < find_vectors_at_once; ++k)
      loaded[k] = load(vectors + (i + k * threads) * vector_elements);
    bool is_found = false;  // in any: a branch for each would let the compiler load one by one
    for (unsigned k = 0; k < find_vectors_at_once; ++k)
      for (unsigned j = 0; j < vector_elements; ++j) is_found |= is_not_finite(loaded[k].at[j]);
    if (is_found) break;
  }
  for (; i < count; i += threads)
    for (auto j = i * vector_elements; j < (i + 1) * vector_elements; ++j)
      if (is_not_finite(vectors[j])) return before + j;
  for (auto j = before + count * vector_elements + thread; j < n; j += threads)
    if (is_not_finite(numbers[j])) return j;
  return n;
}

}  // namespace tidegate::runtime::kernels::cuda
