// What update.hpp promises, in the plainest scalar code: the tree by its definition, one
// element at a time, and the optimizers' formulas in float32, which tests/runtime/optimizers
// compares with the papers. Knows nothing of the kernels' loops.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/kernels/update.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::tests {

namespace kernels = runtime::kernels;

inline float half_to_float(std::uint16_t bits) {
  const bool negative = (bits >> 15) != 0;
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  if (exponent == 31 && mantissa != 0) {  // NaN: quiet, payload kept
    const std::uint32_t count =
        (negative ? 0xffc0'0000u : 0x7fc0'0000u) | static_cast<std::uint32_t>(mantissa) << 13;
    float nan;
    std::memcpy(&nan, &count, sizeof nan);
    return nan;
  }
  float size = std::numeric_limits<float>::infinity();
  if (exponent == 0)
    size = std::ldexp(static_cast<float>(mantissa), -24);
  else if (exponent < 31)
    size = std::ldexp(static_cast<float>(1024 + mantissa), exponent - 25);
  return negative ? -size : size;
}

inline float element_at(const kernels::gradient& g, std::size_t i) {
  const auto* bytes = static_cast<const unsigned char*>(g.data) + i * size_of(g.type);
  float value = 0;
  std::uint16_t half = 0;
  if (g.type == kernels::element::float32) {
    std::memcpy(&value, bytes, sizeof value);
    return value;
  }
  std::memcpy(&half, bytes, sizeof half);
  if (g.type == kernels::element::float16) return half_to_float(half);
  const std::uint32_t upper = std::uint32_t{half} << 16;
  std::memcpy(&value, &upper, sizeof value);
  return value;
}

struct leaf {
  bool there = false;
  float value = 0;
};
// The tree over ranks [lo, lo + span).
inline leaf tree_over(const std::vector<leaf>& leaves, std::size_t lo, std::size_t span) {
  if (span == 1) return lo < leaves.size() ? leaves[lo] : leaf{};
  const leaf left = tree_over(leaves, lo, span / 2);
  const leaf right = tree_over(leaves, lo + span / 2, span / 2);
  if (!left.there) return right;
  if (!right.there) return left;
  return {true, left.value + right.value};
}

inline float reference_sum(const std::vector<kernels::gradient>& inputs, std::size_t i) {
  std::vector<leaf> leaves(inputs.back().rank + 1);
  for (const auto& g : inputs) leaves[g.rank] = {true, element_at(g, i)};
  std::size_t span = 1;
  while (span < leaves.size()) span *= 2;
  return tree_over(leaves, 0, span).value;
}

struct parameters {
  std::vector<float> w, s1, s2;
};

// Scaled, and between the clip value and its negative; a NaN stays one.
inline float reduced(const kernels::optimizer& options, float scale, float sum) {
  const float g = scale * sum;
  if (options.clip_value <= 0) return g;
  if (g > options.clip_value) return options.clip_value;
  return g < -options.clip_value ? -options.clip_value : g;
}

// Step number `step`, from 1, of element i: the formula of the optimizer's header.
inline void reference_step(const kernels::optimizer& options, int step, float scale, float sum,
                           parameters& p, std::size_t i) {
  runtime::beta_powers powers;
  runtime::step_rates<float> rates;
  const bool corrects_bias = runtime::traits_of(options.kind).corrects_bias;
  for (int k = 0; k < step; ++k) rates = runtime::next_rates(options, corrects_bias, powers);
  runtime::visit_optimizer(options.kind, [&](auto optimizer) {
    decltype(optimizer)::step(options, rates, reduced(options, scale, sum), p.w[i], p.s1[i],
                              p.s2[i]);
  });
}

}  // namespace tidegate::tests
