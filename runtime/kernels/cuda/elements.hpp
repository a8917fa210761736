// Elements of gradients and parameters as a kernel reads them: four at a time or alone, for CPU
// and GPU. All conversions are exact, so they may be other instructions on either; of a NaN
// only that it is one is kept.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/base/assert.hpp"
#include "runtime/base/host_device.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::kernels::cuda {

template <element Type>
using stored = std::conditional_t<Type == element::float32, float, std::uint16_t>;

// Elements that go through memory together, so that float32 moves in pieces of 16 bytes, and a
// warp reads whole sectors of every array whatever its type is.
constexpr std::size_t vector_elements = 4;

struct alignas(16) float_vector {
  float at[vector_elements];
};

// Four elements of a type as they lie in memory.
template <element Type>
struct alignas(vector_elements * sizeof(stored<Type>)) packed {
  std::uint32_t words[vector_elements * sizeof(stored<Type>) / sizeof(std::uint32_t)];
};

TIDEGATE_HOST_DEVICE inline float float_of_bits(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  return std::bit_cast<float>(bits);
#endif
}

TIDEGATE_HOST_DEVICE inline float float_of_float16(std::uint16_t bits) {
#ifdef __CUDA_ARCH__
  float value = 0;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
#else
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t size = bits & 0x7fffU;
  if (size > 0x7c00) return float_of_bits(sign | 0x7fc0'0000U | size << 13);
  if (size == 0x7c00) return float_of_bits(sign | 0x7f80'0000U);
  // The exponent is too small by the difference of the two biases, also in a subnormal.
  const float magnitude = float_of_bits(size << 13) * 0x1p112F;
  return sign == 0 ? magnitude : -magnitude;
#endif
}

template <element Type>
TIDEGATE_HOST_DEVICE inline float widened(stored<Type> x) {
  if constexpr (Type == element::float32) {
    return x;
  } else if constexpr (Type == element::float16) {
    return float_of_float16(x);
  } else {
    return float_of_bits(static_cast<std::uint32_t>(x) << 16);
  }
}

template <element Type>
TIDEGATE_HOST_DEVICE inline float_vector widened(const packed<Type>& x) {
  float_vector result;
  for (std::size_t i = 0; i < vector_elements; ++i) {
    if constexpr (Type == element::float32) {
      result.at[i] = float_of_bits(x.words[i]);
    } else {
      const auto half = static_cast<std::uint16_t>(x.words[i / 2] >> (i % 2 * 16));
      result.at[i] = widened<Type>(half);
    }
  }
  return result;
}

// Loads and stores of four elements, aligned to their size; on the CPU an assertion says so.
// Nobody reads a gradient twice: its lines are the first that the cache may drop.
template <element Type>
TIDEGATE_HOST_DEVICE inline packed<Type> load_once(const stored<Type>* from) {
  packed<Type> x;
#ifdef __CUDA_ARCH__
  if constexpr (Type == element::float32) {
    const auto words = __ldcs(reinterpret_cast<const uint4*>(from));
    x.words[0] = words.x;
    x.words[1] = words.y;
    x.words[2] = words.z;
    x.words[3] = words.w;
  } else {
    const auto words = __ldcs(reinterpret_cast<const uint2*>(from));
    x.words[0] = words.x;
    x.words[1] = words.y;
  }
#else
  TIDEGATE_ASSERT(reinterpret_cast<std::uintptr_t>(from) % sizeof x == 0, "an aligned vector");
  std::memcpy(&x, from, sizeof x);
#endif
  return x;
}

TIDEGATE_HOST_DEVICE inline float_vector load(const float* from) {
#ifdef __CUDA_ARCH__
  const auto x = *reinterpret_cast<const float4*>(from);
  return {{x.x, x.y, x.z, x.w}};
#else
  float_vector x;
  TIDEGATE_ASSERT(reinterpret_cast<std::uintptr_t>(from) % sizeof x == 0, "an aligned vector");
  std::memcpy(&x, from, sizeof x);
  return x;
#endif
}

TIDEGATE_HOST_DEVICE inline void store(const float_vector& x, float* to) {
#ifdef __CUDA_ARCH__
  // By name: the compiler may take an assignment apart.
  __stwb(reinterpret_cast<float4*>(to), make_float4(x.at[0], x.at[1], x.at[2], x.at[3]));
#else
  TIDEGATE_ASSERT(reinterpret_cast<std::uintptr_t>(to) % sizeof x == 0, "an aligned vector");
  std::memcpy(to, &x, sizeof x);
#endif
}

}  // namespace tidegate::runtime::kernels::cuda
