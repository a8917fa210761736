// Powers with the same bits on every machine. Pure, any thread.
#pragma once

#include <cstdint>

namespace tidegate::runtime {

// Returns base to the power of `exponent`, by squaring: the number of roundings is that of the
// exponent's bits.
constexpr double power_of(double base, std::uint64_t exponent) noexcept {
  double result = 1.0;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace tidegate::runtime
