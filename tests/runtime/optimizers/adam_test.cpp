#include "runtime/optimizers/adam.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/optimizers/steps.hpp"

namespace tidegate::runtime {
namespace {

TEST(adam, follows_algorithm_1_of_its_paper) {
  auto options = optimizers::adam::traits().defaults;
  options.learning_rate = 0.25F;
  options.epsilon = 0;  // the paper's is of the corrected moment
  const auto seen = tests::run_steps<optimizers::adam>(options);
  double w = 1;
  tests::corrected_moments moments;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    const double g = tests::gradients[t];
    w -= 0.25 * moments.direction(options, g);
    EXPECT_NEAR(seen[t].w, w, 1e-7) << "step " << t + 1;
  }
}

}  // namespace
}  // namespace tidegate::runtime
