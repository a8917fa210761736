#include "launch/bench/pattern.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/optimizers/registry.hpp"

namespace tidegate::bench {

namespace {

using runtime::kernels::optimizer_kind;

constexpr double relative_error_max = 1e-4;  // of a float32 optimizer after some 1000 steps

bool near(float expected, float found) {
  const double difference = std::abs(double{found} - double{expected});
  return difference <= relative_error_max * std::abs(double{expected});  // false for NaN
}

}  // namespace

runtime::kernels::optimizer measured_optimizer(optimizer_kind kind) {
  runtime::kernels::optimizer optimizer;
  optimizer.kind = kind;
  optimizer.learning_rate = 1.0F / 1024;
  return optimizer;
}

float gradient_at(std::uint32_t rank, std::uint64_t clock, std::size_t element) {
  const auto parity = static_cast<std::uint32_t>(clock % 2);
  // Multiply and shift (Knuth); only to tell places apart.
  auto key = static_cast<std::uint32_t>(element % pattern_period) * 2654435761U;
  key ^= (rank * 2U + parity + 1U) * 2246822519U;
  key *= 3266489917U;
  return static_cast<float>(1U + (key >> 28U));
}

gradient_pattern::gradient_pattern(std::uint32_t rank) {
  for (std::uint64_t parity = 0; parity < 2; ++parity) {
    period_[parity].resize(pattern_period);
    for (std::size_t i = 0; i < pattern_period; ++i)
      period_[parity][i] = gradient_at(rank, parity, i);
  }
}

void gradient_pattern::fill(std::uint64_t clock, std::size_t first,
                            std::span<float> out) const {
  const auto& period = period_[clock % 2];
  for (std::size_t at = 0; at < out.size();) {
    const auto begin = (first + at) % pattern_period;
    const auto n = std::min(pattern_period - begin, out.size() - at);
    std::memcpy(out.data() + at, period.data() + begin, n * sizeof(float));
    at += n;
  }
}

reference::reference(optimizer_kind kind, std::uint32_t ranks)
    : optimizer_(measured_optimizer(kind)),
      parameters_(pattern_period),
      moments_(pattern_period),
      expected_(pattern_period) {
  for (std::uint64_t parity = 0; parity < 2; ++parity) {
    sums_[parity].resize(pattern_period);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      for (std::size_t i = 0; i < pattern_period; ++i)
        sums_[parity][i] += gradient_at(rank, parity, i);
  }
}

void reference::step(std::uint64_t pattern) {
  const auto& sums = sums_[pattern % 2];
  ++clocks_;
  runtime::visit_optimizer(optimizer_.kind, [&](auto formula) { step_with(formula, sums); });
}

template <class Optimizer>
void reference::step_with(Optimizer, const std::vector<double>& sums) {
  constexpr auto traits = Optimizer::traits();
  const auto t = static_cast<double>(clocks_);
  runtime::step_rates<double> rates;
  rates.rate = optimizer_.learning_rate;
  rates.kept = 1.0 - double{optimizer_.learning_rate} * optimizer_.weight_decay;
  if (traits.corrects_bias)
    rates.rate *= std::sqrt(1.0 - std::pow(double{optimizer_.beta2}, t)) /
                  (1.0 - std::pow(double{optimizer_.beta1}, t));
  for (std::size_t i = 0; i < pattern_period; ++i) {
    auto& [first, second] = moments_[i];
    Optimizer::step(optimizer_, rates, double{sums[i]}, parameters_[i], first, second);
    expected_[i] = static_cast<float>(parameters_[i]);
  }
}

std::optional<mismatch> reference::check(std::size_t first,
                                         std::span<const float> parameters) const {
  const bool exact = optimizer_.kind == optimizer_kind::sgd;
  std::size_t n = 0;
  for (std::size_t at = 0; at < parameters.size(); at += n) {
    const auto begin = (first + at) % pattern_period;
    const auto* expected_here = expected_.data() + begin;
    n = std::min(pattern_period - begin, parameters.size() - at);
    // The same bytes are right; zero is the only value that has two forms, and no sum is zero.
    if (std::memcmp(parameters.data() + at, expected_here, n * sizeof(float)) == 0) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const float expected = expected_here[i];
      const float found = parameters[at + i];
      if (exact ? found != expected : !near(expected, found))
        return mismatch{.element = first + at + i, .expected = expected, .found = found};
    }
  }
  return std::nullopt;
}

}  // namespace tidegate::bench
