// The values of a row that nobody has pushed to: a pure function of (seed, name of the table,
// id, column). So a row that does not exist need not be kept, and whoever looks it up, in any
// process, computes the same bits.
//
// Arithmetic is that which IEEE 754 rounds in one way (+, -, *, /, sqrt), never fused, so the
// bits are the same on every machine; no function of libm, whose last bits differ. A normal
// value is the inverse of the normal distribution function at a uniform one (Wichura, Applied
// Statistics 37, 1988, algorithm AS 241, PPND7: a relative error of 1e-7), with a logarithm
// of our own. Its 2^32 uniform values end at 6.3 standard deviations.
//
// Pure functions, any thread. No allocation.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/rng.hpp"

namespace tidegate::runtime {

enum class initial_kind : std::uint8_t { constant = 0, uniform = 1, normal = 2 };

struct initial_values {
  initial_kind kind = initial_kind::uniform;
  float scale = 0.01F;    // the constant; a of uniform [-a, a); the standard deviation
  std::uint64_t key = 0;  // initial_key()

  friend bool operator==(const initial_values&, const initial_values&) = default;
};

// Finite, and not negative but for a constant.
bool is_valid(const initial_values& values) noexcept;

constexpr std::uint64_t initial_key(std::uint64_t seed, std::string_view table) noexcept {
  return stream_key(seed, table);
}

// Writes the columns of the row `id` from 0 on; `out` has as many as the row.
void write_initial(const initial_values& values, std::uint64_t id, std::span<float> out);

}  // namespace tidegate::runtime
