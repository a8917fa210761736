#include "runtime/kernels/row_optimizer.hpp"

#include <cmath>

#include "runtime/base/assert.hpp"
#include "runtime/kernels/plugins.hpp"

namespace tidegate::runtime {

namespace {

optimizer_kind dense_kind(optimizer_kind kind) {
  if (kind == optimizer_kind::adagrad) return optimizer_kind::adagrad;
  if (kind == optimizer_kind::adam) return optimizer_kind::adam;
  if (kind == optimizer_kind::proximal) return optimizer_kind::proximal;
  return optimizer_kind::sgd;
}

}  // namespace

std::uint32_t state_floats(const optimizer_options& options, std::uint32_t dim) noexcept {
  switch (options.kind) {
    case optimizer_kind::sgd:
    case optimizer_kind::proximal:
      return 0;
    case optimizer_kind::adagrad:
      return dim;
    case optimizer_kind::rowwise_adagrad:
      return 1;
    case optimizer_kind::adam:
    case optimizer_kind::ftrl:
    case optimizer_kind::group_adagrad:
      return 2 * dim;
    case optimizer_kind::plugin:
      return options.rule_states * dim;
    default:
      break;
  }
  TIDEGATE_ASSERT(false, "an optimizer of rows");
}

row_coefficients coefficients_of(const optimizer_options& options, const row_step& step,
                                 std::uint32_t dim) {
  auto dense = options_at(options, step.clock, step.rate);
  dense.kind = dense_kind(options.kind);
  auto powers = powers_after(dense, step.clock);
  if (options.kind == optimizer_kind::plugin) (void)next_rates(dense, true, powers);
  row_coefficients c;
  c.kind = options.kind;
  c.rule = kernels::optimizer_entry_of(options);
  if (c.rule != nullptr) c.numbers = step_numbers(dense, powers);
  c.dense = kernels::make_coefficients(dense, powers, step.scale);
  const bool groups = options.kind == optimizer_kind::group_adagrad;
  c.row = {.rate = c.dense.rate,
           .epsilon = c.dense.epsilon,
           .beta = groups ? options.epsilon : options.beta,
           .l1 = options.l1,
           .l2 = groups ? 2 * options.l2 : options.l2,
           .row_bound =
               static_cast<float>(double{options.l21} * std::sqrt(static_cast<double>(dim)))};
  return c;
}

kernels::row_constants constants_of(const row_coefficients& c) {
  TIDEGATE_ASSERT(c.rule == nullptr, "no plugin's rule is a kernel");
  kernels::row_constants constants;
  constants.options.kind = c.kind;
  constants.options.clip_value = c.dense.limit;
  constants.options.beta1 = c.dense.beta1;
  constants.options.beta2 = c.dense.beta2;
  constants.options.epsilon = c.dense.epsilon;
  constants.options.l1 = c.dense.l1;
  constants.options.l2 = c.dense.l2;
  constants.rates = {.rate = c.dense.rate, .kept = c.dense.kept};
  constants.scale = c.dense.scale;
  constants.row = c.row;
  return constants;
}

}  // namespace tidegate::runtime
