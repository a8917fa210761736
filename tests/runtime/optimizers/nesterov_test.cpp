#include "runtime/optimizers/nesterov.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/optimizers/steps.hpp"

namespace tidegate::runtime {
namespace {

TEST(nesterov, looks_ahead) {
  auto options = optimizers::nesterov::traits().defaults;
  options.learning_rate = 0.25F;
  const auto seen = tests::run_steps<optimizers::nesterov>(options);
  double w = 1, v = 0;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    const double g = tests::gradients[t];
    v = double{options.momentum} * v + g;
    w -= 0.25 * (g + double{options.momentum} * v);
    EXPECT_NEAR(seen[t].w, w, 1e-7) << "step " << t + 1;
  }
}

}  // namespace
}  // namespace tidegate::runtime
