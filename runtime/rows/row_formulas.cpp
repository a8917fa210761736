#include "runtime/rows/row_formulas.hpp"

#include <vector>

#include "runtime/base/assert.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::runtime::rows {

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
  optimizer_options options;
  options.beta1 = c.dense.beta1;
  options.beta2 = c.dense.beta2;
  options.epsilon = c.dense.epsilon;
  options.l1 = c.dense.l1;
  options.l2 = c.dense.l2;
  const step_rates<float> rates{.rate = c.dense.rate, .kept = c.dense.kept};
  float none = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    auto& a = state.size() > i ? state[i] : none;
    auto& b = state.size() > i + w.size() ? state[i + w.size()] : none;
    Optimizer::step(options, rates, c.dense.scale * g[i], w[i], a, b);
  }
}

void step_rowwise(const row_coefficients& c, std::span<const float> g, std::span<float> w,
                  float& n) {
  const float rate = rowwise_rate(c, squares_of(g, c.dense.scale), w.size(), n);
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = w[i] - rate * (c.dense.scale * g[i]);
}

void step_dual(const row_coefficients& c, std::span<const float> g, std::span<float> w,
               std::span<float> state) {
  const auto z = state.first(w.size()), n = state.subspan(w.size());
  std::vector<float> s(w.size());
  for (std::size_t i = 0; i < w.size(); ++i) {
    accumulate(c, c.dense.scale * g[i], w[i], z[i], n[i]);
    s[i] = shrunk(z[i], c.l1);
  }
  const bool groups = c.kind == optimizer_kind::group_adagrad;
  const float share = groups ? row_share(c, squares_of(s, 1)) : 1.0F;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = left_over(share * s[i], divisor(c, n[i]));
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

}  // namespace tidegate::runtime::rows
