// Gradients whose sum everybody knows, and the parameters that must come of them.
//
// A gradient is a small whole number, a function of rank, parity of the clock and position
// modulo 8191. That is prime: chunks, slices or ranks that change places are noticed. All ranks
// use the same few thousand values again and again, so that what to expect is known without
// reading anybody's gradient: `reference` makes the optimizer's step on one period, in double
// precision and without the kernels that it checks. Under SGD every value is exact, and so is
// the comparison.
//
// One thread per object.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kernels/update.hpp"

namespace tidegate::bench {

inline constexpr std::size_t pattern_period = 8191;
// ranks x clocks; below it sums of SGD stay exact in a float.
inline constexpr std::uint64_t exact_steps_max = 1U << 20U;

// The optimizer of every measurement: a rate that is a power of two, the rest as by default.
runtime::kernels::optimizer measured_optimizer(runtime::kernels::optimizer_kind kind);

// What `rank` pushes at `clock`, at `element`; 1 to 16.
float gradient_at(std::uint32_t rank, std::uint64_t clock, std::size_t element);

class gradient_pattern {
 public:
  explicit gradient_pattern(std::uint32_t rank);
  // Element `first` and those behind it.
  void fill(std::uint64_t clock, std::size_t first, std::span<float> out) const;

 private:
  std::vector<float> period_[2];  // by parity of the clock
};

struct mismatch {
  std::size_t element = 0;
  float expected = 0;
  float found = 0;
};

class reference {
 public:
  // Parameters start at 0; each step takes the sum (not the mean) over `ranks`.
  reference(runtime::kernels::optimizer_kind kind, std::uint32_t ranks);

  // One more clock has been summed and applied, with the gradients of clock `pattern`.
  void step(std::uint64_t pattern);
  void step() { step(clocks_); }
  std::uint64_t clocks() const noexcept { return clocks_; }
  // The first element that is wrong: any difference under SGD, a relative one of 1e-4 else.
  // `parameters` are those from element `first` on.
  std::optional<mismatch> check(std::size_t first, std::span<const float> parameters) const;

 private:
  struct moments {
    double first = 0;
    double second = 0;
  };

  template <class Optimizer>
  void step_with(Optimizer formula, const std::vector<double>& sums);

  runtime::kernels::optimizer optimizer_;
  std::vector<double> sums_[2];  // of gradients over ranks, by parity
  std::vector<double> parameters_;
  std::vector<moments> moments_;
  std::vector<float> expected_;
  std::uint64_t clocks_ = 0;
};

}  // namespace tidegate::bench
