#include "runtime/optimizers/row_check.hpp"

#include <cmath>
#include <string>

#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime {

namespace {

// Their learning rate divides.
bool divides_by_rate(optimizer_kind kind) {
  return kind == optimizer_kind::ftrl || kind == optimizer_kind::group_adagrad;
}

}  // namespace

status check_row_optimizer(const optimizer_options& options) {
  const auto refuse = [&](const std::string& name, float value, const std::string& allowed) {
    return status(errc::invalid_argument, std::string(optimizer_name(options.kind)) + ": " +
                                              name + " " + std::to_string(value) +
                                              "; allowed: " + allowed);
  };
  if (!traits_of(options.kind).steps_rows)
    return {errc::invalid_argument,
            "optimizer '" + std::string(optimizer_name(options.kind)) +
                "' does not step rows; allowed: " + row_optimizer_names()};
  if (state_arrays(options) > states_max)
    return {errc::invalid_argument, name_of(options) + ": " +
                                        std::to_string(options.rule_states) +
                                        " numbers of state; allowed: 0 to 2"};
  const auto is_size = [](float value) { return std::isfinite(value) && value >= 0; };
  if (!is_size(options.learning_rate) ||
      (divides_by_rate(options.kind) && options.learning_rate == 0))
    return refuse("learning_rate", options.learning_rate,
                  divides_by_rate(options.kind) ? "above 0" : "0 and more");
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

}  // namespace tidegate::runtime
