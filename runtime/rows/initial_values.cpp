#include "runtime/rows/initial_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace tidegate::runtime {

namespace {

// x > 0 and normal. x = m 2^e with m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh((m - 1) / (m +
// 1)), whose series ends here where the next term is below 1e-14.
double logarithm(double x) {
  constexpr std::uint64_t root_bits = std::bit_cast<std::uint64_t>(0.70710678118654752);
  constexpr std::uint64_t mantissa = (std::uint64_t{1} << 52U) - 1;
  const auto above = std::bit_cast<std::uint64_t>(x) - root_bits;
  const auto exponent = static_cast<std::int64_t>(above) >> 52;
  const double m = std::bit_cast<double>((above & mantissa) + root_bits);
  const double s = (m - 1) / (m + 1);
  const double t = s * s;
  double sum = 1.0 / 17;
  for (const double over : {15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0})
    sum = sum * t + 1 / over;
  constexpr double log_of_two = 0.69314718055994531;
  return static_cast<double>(exponent) * log_of_two + 2 * s * sum;
}

// The constants of AS 241, PPND7. Each is a quotient of polynomials: of the squared distance
// from the middle, and on the sides of the root of -log(p).
double middle(double q) {
  const double r = 0.180625 - q * q;
  return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
         (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1);
}

double side(double r) {
  r -= 1.6;
  return (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
         ((0.12021132975 * r + 0.73700164250) * r + 1);
}

double tail(double r) {
  r -= 5;
  return (((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
         ((0.012258202635 * r + 0.24197894225) * r + 1);
}

// The normal value below which a share (bits + 1/2) / 2^32 of all lie.
double normal_at(std::uint32_t bits) {
  const double p = (bits + 0.5) * 0x1p-32;
  const double q = p - 0.5;
  if (q >= -0.425 && q <= 0.425) return middle(q);
  const double r = std::sqrt(-logarithm(q < 0 ? p : 1 - p));
  const double z = r <= 5 ? side(r) : tail(r);
  return q < 0 ? -z : z;
}

struct normal_draw {
  float scale;
  float operator()(std::uint32_t bits) const {
    return static_cast<float>(static_cast<double>(scale) * normal_at(bits));
  }
};

struct uniform_draw {
  float scale;  // exactly a, as 24 bits and a power of two cost no rounding
  float operator()(std::uint32_t bits) const {
    const auto number = static_cast<std::int32_t>(bits >> 8U) - (1 << 23);
    return scale * (static_cast<float>(number) * 0x1p-23F);
  }
};

// Each draw of 64 bits gives two columns, the lower half first.
template <class Draw>
void draw_row(const Draw& draw, std::uint64_t row_key, std::size_t first,
              std::span<float> out) {
  const auto bits_of = [&](std::size_t column) { return mix64(row_key + column / 2); };
  std::size_t i = 0;
  if (first % 2 == 1 && !out.empty())
    out[i++] = draw(static_cast<std::uint32_t>(bits_of(first) >> 32U));
  for (; i + 2 <= out.size(); i += 2) {
    const auto bits = bits_of(first + i);
    out[i] = draw(static_cast<std::uint32_t>(bits));
    out[i + 1] = draw(static_cast<std::uint32_t>(bits >> 32U));
  }
  if (i < out.size()) out[i] = draw(static_cast<std::uint32_t>(bits_of(first + i)));
}

}  // namespace

bool is_valid(const initial_values& values) noexcept {
  return std::isfinite(values.scale) &&
         (values.kind == initial_kind::constant || values.scale >= 0);
}

bool is_valid(const initial_row& row, std::uint32_t dim) noexcept {
  std::uint64_t columns = 0;
  for (const auto& segment : row.segments) {
    if (segment.columns == 0) break;
    if (!is_valid({.kind = segment.kind, .scale = segment.scale})) return false;
    columns += segment.columns;
  }
  return columns == dim;
}

void write_initial(const initial_values& values, std::uint64_t id, std::span<float> out,
                   std::size_t first) {
  const auto row_key = mix64(values.key ^ mix64(id));
  switch (values.kind) {
    case initial_kind::constant:
      std::fill(out.begin(), out.end(), values.scale);
      return;
    case initial_kind::uniform:
      return draw_row(uniform_draw{values.scale}, row_key, first, out);
    case initial_kind::normal:
      return draw_row(normal_draw{values.scale}, row_key, first, out);
  }
}

void write_initial(const initial_row& row, std::uint64_t id, std::span<float> out) {
  std::size_t first = 0;
  for (const auto& segment : row.segments) {
    if (segment.columns == 0) return;
    write_initial({.kind = segment.kind, .scale = segment.scale, .key = row.key}, id,
                  out.subspan(first, segment.columns), first);
    first += segment.columns;
  }
}

}  // namespace tidegate::runtime
