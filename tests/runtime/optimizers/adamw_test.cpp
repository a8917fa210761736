#include "runtime/optimizers/adamw.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/runtime/optimizers/steps.hpp"

namespace tidegate::runtime {
namespace {

TEST(adamw, decays_parameters_apart_from_the_gradient) {
  auto options = optimizers::adamw::traits().defaults;
  options.learning_rate = 0.25F;
  options.epsilon = 0;  // the paper's is of the corrected moment
  const auto seen = tests::run_steps<optimizers::adamw>(options);
  double w = 1, m = 0, v = 0;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    const double g = tests::gradients[t];
    m = double{options.beta1} * m + (1 - double{options.beta1}) * g;
    v = double{options.beta2} * v + (1 - double{options.beta2}) * g * g;
    const double steps = static_cast<double>(t + 1);
    const double m_hat = m / (1 - std::pow(double{options.beta1}, steps));
    const double v_hat = v / (1 - std::pow(double{options.beta2}, steps));
    w -= 0.25 * (m_hat / std::sqrt(v_hat) + double{options.weight_decay} * w);
    EXPECT_NEAR(seen[t].w, w, 1e-7) << "step " << t + 1;
  }
}

}  // namespace
}  // namespace tidegate::runtime
