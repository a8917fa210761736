// Optimizers of rows: state, and what a step needs. A row is stepped when it is pushed to and
// at no other time. row_formulas.hpp has the formulas, and runtime/optimizers the options.
// Values and pure functions, any thread.
#pragma once

#include <cstdint>

#include "runtime/functions/plugin_rules.hpp"
#include "runtime/kernels/fused.hpp"
#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime {

// Float32 numbers of state that a row of `dim` values has. All are 0 before the first step.
std::uint32_t state_floats(const optimizer_options& options, std::uint32_t dim) noexcept;

// Of one batch of gradients.
struct row_step {
  // Of the schedule, and of the correction of Adam's biases.
  std::uint64_t clock = 0;
  // The latest clock of steps of the table, if that is later: where workers do not wait for
  // each other, clocks of steps go back. It is noted as that of the last push.
  std::uint64_t latest = 0;
  float scale = 1.0F;  // of the gradients
  float rate = 1.0F;   // of the learning rate, beside its schedule
};

// What a step needs, worked out once for all rows of a batch.
struct row_coefficients {
  optimizer_kind kind = optimizer_kind::sgd;
  kernels::coefficients dense;  // rate, scale, betas, epsilon
  float beta = 0;               // what is added to the root of the squares
  float l1 = 0;
  float l2 = 0;         // what is added to the divisor
  float row_bound = 0;  // l21 times the root of dim
  // Of a plugin's.
  const optimizer_entry* rule = nullptr;
  tidegate_step numbers = {};
};
row_coefficients coefficients_of(const optimizer_options& options, const row_step& step,
                                 std::uint32_t dim);

}  // namespace tidegate::runtime
