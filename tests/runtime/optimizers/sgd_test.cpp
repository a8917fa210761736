#include "runtime/optimizers/sgd.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/optimizers/steps.hpp"

namespace tidegate::runtime {
namespace {

TEST(sgd, goes_against_the_gradient) {
  auto options = optimizers::sgd::traits().defaults;
  options.learning_rate = 0.25F;
  const auto seen = tests::run_steps<optimizers::sgd>(options);
  double w = 1;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    const double g = tests::gradients[t];
    w -= 0.25 * g;
    EXPECT_NEAR(seen[t].w, w, 1e-7) << "step " << t + 1;
  }
}

}  // namespace
}  // namespace tidegate::runtime
