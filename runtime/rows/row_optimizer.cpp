#include "runtime/rows/row_optimizer.hpp"

#include <cmath>
#include <string>

namespace tidegate::runtime {

namespace {

optimizer_kind dense_kind(row_optimizer_kind kind) {
  if (kind == row_optimizer_kind::adagrad) return optimizer_kind::adagrad;
  if (kind == row_optimizer_kind::adam) return optimizer_kind::adam;
  return optimizer_kind::sgd;
}

bool is_proximal(row_optimizer_kind kind) {
  return kind == row_optimizer_kind::ftrl || kind == row_optimizer_kind::group_adagrad;
}

}  // namespace

std::string_view name_of(row_optimizer_kind kind) noexcept {
  switch (kind) {
    case row_optimizer_kind::sgd:
      return "sgd";
    case row_optimizer_kind::adagrad:
      return "adagrad";
    case row_optimizer_kind::rowwise_adagrad:
      return "rowwise_adagrad";
    case row_optimizer_kind::adam:
      return "adam";
    case row_optimizer_kind::ftrl:
      return "ftrl";
    case row_optimizer_kind::group_adagrad:
      return "group_adagrad";
  }
  return "unknown";
}

std::optional<row_optimizer_kind> find_row_optimizer(std::string_view name) noexcept {
  for (const auto kind : row_optimizers)
    if (name_of(kind) == name) return kind;
  return std::nullopt;
}

std::uint32_t state_floats(row_optimizer_kind kind, std::uint32_t dim) noexcept {
  switch (kind) {
    case row_optimizer_kind::sgd:
      return 0;
    case row_optimizer_kind::adagrad:
      return dim;
    case row_optimizer_kind::rowwise_adagrad:
      return 1;
    case row_optimizer_kind::adam:
    case row_optimizer_kind::ftrl:
    case row_optimizer_kind::group_adagrad:
      return 2 * dim;
  }
  return 0;
}

status check(const row_optimizer_options& options) {
  const auto refuse = [&](const std::string& name, float value, const std::string& allowed) {
    return status(errc::invalid_argument, std::string(name_of(options.kind)) + ": " + name +
                                              " " + std::to_string(value) +
                                              "; allowed: " + allowed);
  };
  const auto is_size = [](float value) { return std::isfinite(value) && value >= 0; };
  if (!is_size(options.learning_rate) ||
      (is_proximal(options.kind) && options.learning_rate == 0))
    return refuse("learning_rate", options.learning_rate, "above 0");
  if (!(options.beta1 >= 0 && options.beta1 < 1))
    return refuse("beta1", options.beta1, "0 to below 1");
  if (!(options.beta2 >= 0 && options.beta2 < 1))
    return refuse("beta2", options.beta2, "0 to below 1");
  if (!is_size(options.epsilon)) return refuse("epsilon", options.epsilon, "0 and more");
  if (!is_size(options.beta)) return refuse("beta", options.beta, "0 and more");
  if (!is_size(options.l1)) return refuse("l1", options.l1, "0 and more");
  if (!is_size(options.l2)) return refuse("l2", options.l2, "0 and more");
  if (!is_size(options.l21)) return refuse("l21", options.l21, "0 and more");
  return {};
}

row_coefficients coefficients_of(const row_optimizer_options& options, const row_step& step,
                                 std::uint32_t dim) {
  optimizer_options dense;
  dense.kind = dense_kind(options.kind);
  // As options_at() of dense tables has it, to the last bit.
  dense.learning_rate = static_cast<float>(options.learning_rate * step.share * step.rate);
  dense.beta1 = options.beta1;
  dense.beta2 = options.beta2;
  dense.epsilon = options.epsilon;
  auto powers = powers_after(dense, step.clock);
  row_coefficients c;
  c.kind = options.kind;
  c.dense = kernels::make_coefficients(dense, powers, step.scale);
  const bool groups = options.kind == row_optimizer_kind::group_adagrad;
  c.beta = groups ? options.epsilon : options.beta;
  c.l1 = options.l1;
  c.l2 = groups ? 2 * options.l2 : options.l2;
  c.row_bound = static_cast<float>(double{options.l21} * std::sqrt(static_cast<double>(dim)));
  return c;
}

}  // namespace tidegate::runtime
