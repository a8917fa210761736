#include "runtime/optimizers/adamw.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/optimizers/steps.hpp"

namespace tidegate::runtime {
namespace {

TEST(adamw, decays_parameters_apart_from_the_gradient) {
  auto options = optimizers::adamw::traits().defaults;
  options.learning_rate = 0.25F;
  options.epsilon = 0;  // the paper's is of the corrected moment
  const auto seen = tests::run_steps<optimizers::adamw>(options);
  double w = 1;
  tests::corrected_moments moments;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    const double g = tests::gradients[t];
    w -= 0.25 * (moments.direction(options, g) + double{options.weight_decay} * w);
    EXPECT_NEAR(seen[t].w, w, 1e-7) << "step " << t + 1;
  }
}

}  // namespace
}  // namespace tidegate::runtime
