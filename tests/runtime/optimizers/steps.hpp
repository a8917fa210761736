// Runs an optimizer's scalar step several times, so that a test can compare it with the formula
// of a paper, written out in the test.
#pragma once

#include <cmath>
#include <vector>

#include "runtime/optimizers/optimizer.hpp"

namespace tidegate::tests {

struct parameter {
  double w = 1;
  double first = 0;  // state
  double second = 0;
};

inline const std::vector<double> gradients = {0.5, -1.25, 2, 0, -0.125};

// Returns the parameter after each of `gradients`.
template <class Optimizer>
std::vector<parameter> run_steps(const runtime::optimizer_options& options) {
  std::vector<parameter> seen;
  parameter at;
  double power1 = 1, power2 = 1;
  for (const double g : gradients) {
    power1 *= options.beta1;
    power2 *= options.beta2;
    runtime::step_rates<double> rates;
    rates.rate = options.learning_rate;
    if (Optimizer::traits().corrects_bias) rates.rate *= std::sqrt(1 - power2) / (1 - power1);
    rates.kept = 1 - double{options.learning_rate} * options.weight_decay;
    Optimizer::step(options, rates, g, at.w, at.first, at.second);
    seen.push_back(at);
  }
  return seen;
}

// Adam's moments with the correction of their biases (Kingma & Ba 2015, algorithm 1).
struct corrected_moments {
  double m = 0, v = 0;
  double step = 0;

  // Returns the direction of the step after this gradient, for an epsilon of 0.
  double direction(const runtime::optimizer_options& options, double g) {
    const double beta1 = options.beta1, beta2 = options.beta2;
    ++step;
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    return m / (1 - std::pow(beta1, step)) / std::sqrt(v / (1 - std::pow(beta2, step)));
  }
};

}  // namespace tidegate::tests
