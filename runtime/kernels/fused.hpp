// The vector loops below update.hpp: internal to this folder and runtime/rows. Each call runs
// the widest version that the machine has. Pure functions over the caller's memory, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::kernels {

constexpr std::size_t fused_inputs_max = 8;

// Numbers of inputs that fused_step and fused_sum have a loop for. In blocks, 5 to 7 inputs
// went at half the speed. Fewer for halves: every one more is a loop per optimizer, element
// type and vector width.
constexpr bool is_fused(element type, std::size_t count) noexcept {
  if (type == element::float32) return count >= 1 && count <= fused_inputs_max;
  return count == 1 || count == 2 || count == 4;
}

// What a loop needs of an optimizer, worked out once per step.
struct coefficients {
  optimizer_kind kind = optimizer_kind::sgd;
  float rate = 0;  // step_rates
  float scale = 1;
  float limit = 0;  // the largest absolute value of a gradient's element; 0: none
  float momentum = 0;
  float beta1 = 0, beta1_rest = 0;  // rest: 1 - beta1
  float beta2 = 0, beta2_rest = 0;
  float epsilon = 0;
  float kept = 1;  // step_rates
  float l1 = 0, l2 = 0;
};
// `powers`: after the steps made so far; moved on by one.
coefficients make_coefficients(const optimizer& options, beta_powers& powers, float scale);

// `count` arrays of one type, whose ranks have the tree of ranks 0 .. count - 1.
struct dense_inputs {
  std::array<const void*, fused_inputs_max> data{};
  std::size_t count = 0;  // one with is_fused
  element type = element::float32;
};

// Sum and step without leaving the registers.
void fused_step(const coefficients& options, const dense_inputs& inputs,
                const chunk_arrays& at);
void fused_sum(const dense_inputs& inputs, float* out, std::size_t n);

// Numbers of inputs with gaps that fused_step_around_gaps has a loop for; others are summed in
// blocks first.
constexpr bool is_fused_around_gaps(std::size_t count) noexcept {
  return count == 1 || count == 2 || count == 4;
}

// The same of float32 with gaps; without `options` it sets the parameters to the sum.
// Parameters of elements whose sum is a gap stay, and are read from `at.before`.
void fused_step_around_gaps(const coefficients* options, const dense_inputs& inputs,
                            const chunk_arrays& at);

struct operand {
  const void* data = nullptr;
  element type = element::float32;
};
// The numbers that a sum of squares is added up in: element i of a block goes to number i
// modulo so many, whatever the width of a vector is.
constexpr std::size_t square_sums = 32;
using squares = std::array<double, square_sums>;
// Returns their sum, in a tree; `sums` is used up.
inline double total_of(squares& sums) noexcept {
  for (auto half = square_sums / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  return sums[0];
}
// Adds the squares of scale * data[0, n) to `into`; the products are exact.
void add_squares(const float* data, float scale, std::size_t n, squares& into);

// out = a + b; `out` may be a or b.
void add(const operand& a, const operand& b, float* out, std::size_t n);

}  // namespace tidegate::runtime::kernels
