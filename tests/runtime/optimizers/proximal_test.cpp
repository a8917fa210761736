#include "runtime/optimizers/proximal.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/runtime/optimizers/steps.hpp"

namespace tidegate::runtime {
namespace {

optimizer_options with(float rate, float l1, float l2) {
  auto options = optimizers::proximal::traits().defaults;
  options.learning_rate = rate;
  options.l1 = l1;
  options.l2 = l2;
  return options;
}

float step_from(float w, float g, const optimizer_options& options) {
  float none = 0;
  optimizers::proximal::step(options, step_rates<float>{.rate = options.learning_rate}, g, w,
                             none, none);
  return w;
}

// Where w lies that makes (w - u)^2 / (2 lr) + l1 |w| + l2/2 w^2 least, by trying.
double least(double u, double rate, double l1, double l2) {
  double best = 0, cost = u * u / (2 * rate);
  for (int i = -40'000; i <= 40'000; ++i) {
    const double w = i / 10'000.0;
    const double here = (w - u) * (w - u) / (2 * rate) + l1 * std::abs(w) + l2 / 2 * w * w;
    if (here < cost) best = w, cost = here;
  }
  return best;
}

TEST(proximal, finds_the_least_cost_near_the_gradient_step) {
  for (const float w : {-1.5F, -0.2F, 0.0F, 0.3F, 2.0F})
    for (const float g : {-1.0F, 0.0F, 0.4F, 1.0F})
      for (const auto& [l1, l2] : {std::pair{0.0F, 0.0F}, {0.5F, 0.0F}, {0.5F, 2.0F}}) {
        const auto options = with(0.25F, l1, l2);
        EXPECT_NEAR(step_from(w, g, options), least(w - 0.25 * g, 0.25, l1, l2), 1.1e-4)
            << w << " " << g << " " << l1 << " " << l2;
      }
}

TEST(proximal, without_costs_is_gradient_descent) {
  const auto seen = tests::run_steps<optimizers::proximal>(with(0.25F, 0, 0));
  double w = 1;
  for (std::size_t t = 0; t < seen.size(); ++t) {
    w -= 0.25 * tests::gradients[t];
    EXPECT_NEAR(seen[t].w, w, 1e-6);
  }
}

TEST(proximal, zeros_what_is_within_reach_and_no_nan) {
  const auto options = with(0.5F, 1.0F, 0.0F);
  EXPECT_EQ(step_from(0.5F, 0.0F, options), 0.0F);
  EXPECT_EQ(step_from(-0.5F, 0.0F, options), 0.0F);
  EXPECT_FALSE(std::signbit(step_from(-0.25F, 0.0F, options)));
  EXPECT_EQ(step_from(0.75F, 0.0F, options), 0.25F);
  EXPECT_EQ(step_from(-0.75F, 0.0F, options), -0.25F);
  EXPECT_TRUE(std::isnan(step_from(std::numeric_limits<float>::quiet_NaN(), 0.0F, options)));
  EXPECT_TRUE(std::isnan(step_from(0.0F, std::numeric_limits<float>::quiet_NaN(), options)));
}

}  // namespace
}  // namespace tidegate::runtime
