// Rules as plugins have them, for tests that run in one process: `strongest` combines, and
// `blend` and `scaled_rows` step. Any thread once they are used.
#pragma once

#include <cmath>

#include "runtime/functions/plugin_rules.hpp"

namespace tidegate::tests {

// The number that is larger in absolute value, and of equal ones the first.
inline float strongest_of(float a, float b) {
  return std::fabs(b) > std::fabs(a) ? b : a;
}

// One element of a step of `blend`, which has two numbers of state and reads an option, its
// rate and a power.
struct blended {
  float w = 0;
  float a = 0;
  float b = 0;

  void step(const runtime::optimizer_options& options, float g, int steps) {
    const auto power = static_cast<float>(std::pow(double{options.beta1}, steps));
    a = options.beta1 * a + g;
    b = b + std::fabs(g);
    w = w - options.learning_rate * (a / (1.0F + b)) - power;
  }
};

inline void run_strongest(const float* a, const float* b, float* out, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) out[i] = strongest_of(a[i], b[i]);
}

inline void run_blend(const tidegate_step* step) {
  for (std::uint64_t i = 0; i < step->elements; ++i) {
    const float g = step->gradient[i];
    auto& a = step->state1[i];
    auto& b = step->state2[i];
    a = step->beta1 * a + g;
    b = b + std::fabs(g);
    step->parameters[i] = step->parameters[i] - step->learning_rate * (a / (1.0F + b)) -
                          static_cast<float>(step->beta1_power);
  }
}

// A row minus its gradient, divided by its number of columns: a step of whole rows.
inline void run_scaled_rows(const tidegate_step* step) {
  for (std::uint64_t i = 0; i < step->elements; ++i)
    step->parameters[i] =
        (step->parameters[i] - step->gradient[i]) / static_cast<float>(step->elements);
}

// Makes them the rules of this process, once.
inline void use_rules_of_tests() {
  static const auto rules = [] {
    constexpr tidegate_reduction reductions[] = {
        {.name = "strongest", .combine = run_strongest}};
    constexpr tidegate_optimizer optimizers[] = {
        {.name = "blend", .states = 2, .whole_rows = 0, .step = run_blend},
        {.name = "scaled_rows", .states = 0, .whole_rows = 1, .step = run_scaled_rows}};
    runtime::plugin_rules all;
    const auto added = all.add("of tests", reductions, optimizers);
    return added.ok() ? all : runtime::plugin_rules();
  }();
  runtime::set_rules_of_process(rules);
}

}  // namespace tidegate::tests
