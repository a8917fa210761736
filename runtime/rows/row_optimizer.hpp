// Optimizers of rows: options, state, and what a step needs. A row is stepped when it is pushed
// to and at no other time. row_formulas.hpp has the formulas. Values and pure functions, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/base/status.hpp"
#include "runtime/kernels/fused.hpp"

namespace tidegate::runtime {

// The numbers are for messages and files, and never used again.
enum class row_optimizer_kind : std::uint8_t {
  sgd = 0,
  adagrad = 1,
  rowwise_adagrad = 2,
  adam = 3,
  ftrl = 4,
  group_adagrad = 5,
};
inline constexpr row_optimizer_kind row_optimizers[] = {
    row_optimizer_kind::sgd,  row_optimizer_kind::adagrad, row_optimizer_kind::rowwise_adagrad,
    row_optimizer_kind::adam, row_optimizer_kind::ftrl,    row_optimizer_kind::group_adagrad};

// The options of all; each reads those that its formula names.
struct row_optimizer_options {
  row_optimizer_kind kind = row_optimizer_kind::sgd;
  float learning_rate = 0.01F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float beta = 1.0F;  // of FTRL
  float l1 = 0.0F;
  float l2 = 0.0F;
  float l21 = 0.0F;  // of groups; a group is a row

  friend bool operator==(const row_optimizer_options&, const row_optimizer_options&) = default;
};

std::string_view name_of(row_optimizer_kind kind) noexcept;
std::optional<row_optimizer_kind> find_row_optimizer(std::string_view name) noexcept;

// Float32 numbers of state that a row of `dim` values has. All are 0 before the first step.
std::uint32_t state_floats(row_optimizer_kind kind, std::uint32_t dim) noexcept;

// Errors: invalid_argument (an option that is no number, or out of its range).
status check(const row_optimizer_options& options);

// Of one batch of gradients.
struct row_step {
  std::uint64_t clock = 0;  // counts steps of the table, for the correction of Adam's biases
  float scale = 1.0F;       // of the gradients
  // Factors of the learning rate: of its schedule, and of who pushes.
  double share = 1.0;
  float rate = 1.0F;
};

// What a step needs, worked out once for all rows of a batch.
struct row_coefficients {
  row_optimizer_kind kind = row_optimizer_kind::sgd;
  kernels::coefficients dense;  // rate, scale, betas, epsilon
  float beta = 0;               // what is added to the root of the squares
  float l1 = 0;
  float l2 = 0;         // what is added to the divisor
  float row_bound = 0;  // l21 times the root of dim
};
row_coefficients coefficients_of(const row_optimizer_options& options, const row_step& step,
                                 std::uint32_t dim);

}  // namespace tidegate::runtime
