#include "runtime/optimizers/assign.hpp"

#include <gtest/gtest.h>

#include "tests/runtime/optimizers/steps.hpp"

namespace tidegate::runtime {
namespace {

TEST(assign, is_the_gradient_of_the_last_step) {
  const auto seen = tests::run_steps<optimizers::assign>(optimizers::assign::traits().defaults);
  for (std::size_t t = 0; t < seen.size(); ++t)
    EXPECT_EQ(seen[t].w, tests::gradients[t]) << "step " << t + 1;
}

}  // namespace
}  // namespace tidegate::runtime
