#include "runtime/optimizers/adagrad.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/runtime/optimizers/steps.hpp"

namespace tidegate::runtime {
namespace {

TEST(adagrad, divides_by_the_root_of_all_squares_so_far) {
  auto options = optimizers::adagrad::traits().defaults;
  options.learning_rate = 0.25F;
  const auto seen = tests::run_steps<optimizers::adagrad>(options);
  double w = 1, sum = 0;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    const double g = tests::gradients[t];
    sum += g * g;
    w -= 0.25 * g / (std::sqrt(sum) + double{options.epsilon});
    EXPECT_NEAR(seen[t].w, w, 1e-7) << "step " << t + 1;
  }
}

}  // namespace
}  // namespace tidegate::runtime
