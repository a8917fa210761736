#include "runtime/kernels/row_step.hpp"

#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/kernels/reduced.hpp"
#include "runtime/optimizers/adagrad.hpp"
#include "runtime/optimizers/adam.hpp"
#include "runtime/optimizers/proximal.hpp"
#include "runtime/optimizers/row_formulas.hpp"
#include "runtime/optimizers/sgd.hpp"

namespace tidegate::runtime {

namespace {

double squares_of(std::span<const float> values, float scale) {
  kernels::squares sums{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = scale * values[i];
    sums[i % kernels::square_sums] += x * x;
  }
  return kernels::total_of(sums);
}

template <class Optimizer>
void step_columns(const row_coefficients& c, std::span<const float> g, std::span<float> w,
                  std::span<float> state) {
  const auto constants = constants_of(c);
  float none = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    auto& a = state.size() > i ? state[i] : none;
    auto& b = state.size() > i + w.size() ? state[i + w.size()] : none;
    Optimizer::step(constants.options, constants.rates,
                    kernels::reduced(g[i], c.dense.scale, c.dense.limit), w[i], a, b);
  }
}

void step_rowwise(const row_coefficients& c, std::span<const float> g, std::span<float> w,
                  float& n) {
  const float rate = rowwise_rate(c.row, squares_of(g, c.dense.scale),
                                  static_cast<std::uint32_t>(w.size()), n);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] - rate * (c.dense.scale * g[i]);
}

void step_dual(const row_coefficients& c, std::span<const float> g, std::span<float> w,
               std::span<float> state) {
  const auto z = state.first(w.size()), n = state.subspan(w.size());
  std::vector<float> s(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    accumulate(c.row, c.dense.scale * g[i], w[i], z[i], n[i]);
    s[i] = shrunk(z[i], c.row.l1);
  }
  const bool groups = c.kind == optimizer_kind::group_adagrad;
  const float share = groups ? row_share(c.row, squares_of(s, 1)) : 1.0F;
  for (std::size_t i = 0; i < w.size(); ++i)
    w[i] = left_over(share * s[i], divisor(c.row, n[i]));
}

}  // namespace

void step_row_by_plugin(const row_coefficients& c, const float* g, float* w, float* state,
                        std::size_t dim) {
  alignas(64) float gradient[limits::row_dim_max];
  for (std::size_t i = 0; i < dim; ++i) gradient[i] = c.dense.scale * g[i];
  auto step = c.numbers;
  step.gradient = gradient;
  step.parameters = w;
  step.state1 = c.rule->rule.states > 0 ? state : nullptr;
  step.state2 = c.rule->rule.states > 1 ? state + dim : nullptr;
  step.elements = dim;
  const rule_watch watch(c.rule);
  c.rule->rule.step(&step);
}

void step_row(const row_coefficients& c, std::span<const float> g, std::span<float> w,
              std::span<float> state) {
  TIDEGATE_ASSERT(g.size() == w.size(), "a gradient for each value");
  switch (c.kind) {
    case optimizer_kind::sgd:
      return step_columns<optimizers::sgd>(c, g, w, state);
    case optimizer_kind::adagrad:
      return step_columns<optimizers::adagrad>(c, g, w, state);
    case optimizer_kind::rowwise_adagrad:
      return step_rowwise(c, g, w, state.front());
    case optimizer_kind::adam:
      return step_columns<optimizers::adam>(c, g, w, state);
    case optimizer_kind::proximal:
      return step_columns<optimizers::proximal>(c, g, w, state);
    case optimizer_kind::ftrl:
    case optimizer_kind::group_adagrad:
      return step_dual(c, g, w, state);
    case optimizer_kind::plugin:
      return step_row_by_plugin(c, g.data(), w.data(), state.data(), w.size());
    default:
      TIDEGATE_ASSERT(false, "an optimizer of rows");
  }
}

}  // namespace tidegate::runtime
