// Gaps: elements of a gradient that its worker has not pushed. A range of a table may begin and
// end anywhere in a chunk; the rest of the chunk's gradient then holds gaps. A gap is one NaN,
// told by its bits: no sum of numbers is that NaN, nothing is kept that was computed from one,
// and a gradient with gaps is sent, kept and handed on like any other.
//
// The sum of a gap and a number is the number, and that of two gaps is a gap: each element has
// the canonical tree over the ranks that have pushed it (update.hpp). An element whose sum is a
// gap makes no step. Which elements are steps depends on the ranges alone, not on chunks.
//
// Pure functions over the caller's memory, any thread. No allocation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/host_device.hpp"

namespace tidegate::runtime::kernels {

// A quiet NaN. Processors make other ones: their payload is 0, or that of an operand.
inline constexpr std::uint32_t gap_bits = 0x7fe7'1de9;

inline float gap() noexcept {
  return std::bit_cast<float>(gap_bits);
}

TIDEGATE_HOST_DEVICE inline bool is_gap(float x) {
#ifdef __CUDA_ARCH__
  return __float_as_uint(x) == gap_bits;
#else
  return std::bit_cast<std::uint32_t>(x) == gap_bits;
#endif
}

// Returns the sum of two elements of which either may be a gap.
TIDEGATE_HOST_DEVICE inline float sum_around_gaps(float a, float b) {
  if (is_gap(a)) return b;
  return is_gap(b) ? a : a + b;
}

void fill_with_gaps(std::span<float> elements) noexcept;

// out = a + b around gaps; `out` may be a or b.
void add_around_gaps(const float* a, const float* b, float* out, std::size_t n) noexcept;

}  // namespace tidegate::runtime::kernels
