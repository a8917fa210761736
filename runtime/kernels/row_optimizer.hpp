// Optimizers of rows: state, and what a step needs. A row is stepped when it is pushed to and
// at no other time. runtime/optimizers has formulas and options.
// Values and pure functions, any thread.
#pragma once

#include <cstdint>

#include "runtime/functions/plugin_rules.hpp"
#include "runtime/kernels/fused.hpp"
#include "runtime/kernels/row_launch.hpp"
#include "runtime/optimizers/registry.hpp"
#include "runtime/optimizers/row_formulas.hpp"

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
  row_numbers row;
  // Of a plugin's.
  const optimizer_entry* rule = nullptr;
  tidegate_step numbers = {};
};
row_coefficients coefficients_of(const optimizer_options& options, const row_step& step,
                                 std::uint32_t dim);
// The same for a kernel. Asserted: not the rule of a plugin.
kernels::row_constants constants_of(const row_coefficients& c);

}  // namespace tidegate::runtime
