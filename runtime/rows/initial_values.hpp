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

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/limits.hpp"
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

// Columns side by side that have first values of one kind.
struct initial_columns {
  std::uint32_t columns = 0;
  initial_kind kind = initial_kind::uniform;
  float scale = 0.01F;

  friend bool operator==(const initial_columns&, const initial_columns&) = default;
};

// The first values of whole rows: of one segment after the other, up to the first that has no
// columns.
struct initial_row {
  std::uint64_t key = 0;  // initial_key()
  std::array<initial_columns, limits::row_segments_max> segments = {};

  friend bool operator==(const initial_row&, const initial_row&) = default;
};

// Returns true if the segments are valid and have `dim` columns together.
bool is_valid(const initial_row& row, std::uint32_t dim) noexcept;

constexpr std::uint64_t initial_key(std::uint64_t seed, std::string_view table) noexcept {
  return stream_key(seed, table);
}

// Writes columns of the row `id`, from `first` on and as many as `out` has.
void write_initial(const initial_values& values, std::uint64_t id, std::span<float> out,
                   std::size_t first = 0);
// Writes the whole row; `out` has as many columns as it.
void write_initial(const initial_row& row, std::uint64_t id, std::span<float> out);

}  // namespace tidegate::runtime
