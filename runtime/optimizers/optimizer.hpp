// Optimizers as values: which one, with which options. Plain values, any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "runtime/optimizers/list.hpp"
#include "runtime/optimizers/reduction.hpp"
#include "runtime/optimizers/rule_name.hpp"
#include "runtime/optimizers/schedule.hpp"

namespace tidegate::runtime {

enum class optimizer_kind : std::uint8_t {
#define TIDEGATE_KIND(name, number) name = number,
  TIDEGATE_OPTIMIZERS(TIDEGATE_KIND) TIDEGATE_ROW_OPTIMIZERS(TIDEGATE_KIND)
#undef TIDEGATE_KIND
      plugin = 11,  // a rule of a plugin, which optimizer_options::rule names
};

inline constexpr std::uint32_t states_max = 2;

// The options of all optimizers; each reads those that its traits name.
struct optimizer_options {
  optimizer_kind kind = optimizer_kind::sgd;
  float learning_rate = 0.01F;
  float momentum = 0.9F;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0.0F;
  float l1 = 0.0F;
  float l2 = 0.0F;
  float beta = 1.0F;  // of FTRL: what is added to the root of the sum of squares
  float l21 = 0.0F;   // of groups; a group is a row
  // Each element of the reduced gradient is brought into [-clip_value, clip_value] before the
  // step; 0: it is taken as it is.
  float clip_value = 0.0F;
  rate_schedule schedule;
  // Elements that nobody pushes in a clock make no step in it, and the correction of a bias is
  // that of the clock: workers may push ranges of the table.
  bool lazy = false;
  // How gradients become one before the step, which scales nothing but sums.
  reduction reduce = reduction::of_job;
  rule_name reduce_rule = {};  // of reduction::plugin
  rule_name rule = {};         // of optimizer_kind::plugin
  // Numbers that such a rule keeps for each element, at most states_max.
  std::uint32_t rule_states = 0;

  friend bool operator==(const optimizer_options&, const optimizer_options&) = default;
};

// Options as a set of bits. All optimizers have a learning rate.
enum class optimizer_option : std::uint16_t {
  none = 0,
  learning_rate = 1,
  momentum = 2,
  beta1 = 4,
  beta2 = 8,
  epsilon = 16,
  weight_decay = 32,
  clip_value = 64,
  schedule = 128,  // and the factor that comes with pushes
  l1 = 256,
  l2 = 512,
  beta = 1024,
  l21 = 2048,
};
constexpr optimizer_option operator|(optimizer_option a, optimizer_option b) {
  return static_cast<optimizer_option>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
// The options of optimizers that step by a learning rate.
inline constexpr auto optimizer_options_of_steps =
    optimizer_option::learning_rate | optimizer_option::clip_value | optimizer_option::schedule;
constexpr bool contains(optimizer_option set, optimizer_option option) {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(option)) != 0;
}

// What is known of an optimizer besides its arithmetic.
struct optimizer_traits {
  optimizer_kind kind = optimizer_kind::sgd;
  std::string_view name;
  // float32 arrays as large as the parameters, states_max at most; state_arrays() has them.
  std::uint32_t state_arrays = 0;
  bool reads_parameters = true;  // false: the new ones follow from the gradient alone
  optimizer_option options = optimizer_options_of_steps;
  bool steps_rows = false;     // of tables of rows
  bool corrects_bias = false;  // its rate follows from powers of the betas (Kingma & Ba 2015)
  optimizer_options defaults;  // as in common frameworks
};

// What a step needs of the options, worked out once per step: the rate with the correction of
// both biases in it, and the share of the parameters that decay leaves.
template <class Real>
struct step_rates {
  Real rate = 0;
  Real kept = 1;
};

// Powers of the betas after the steps made so far; 1 before the first.
struct beta_powers {
  double beta1 = 1.0;
  double beta2 = 1.0;
};

// Returns the powers after so many steps, which is what those of a lazy optimizer are at the
// clock of that number: by repeated squaring, with the same bits on every machine.
beta_powers powers_after(const optimizer_options& options, std::uint64_t steps) noexcept;

// Returns the powers before a step of this clock; `powers`: after the steps made so far.
inline beta_powers powers_before(const optimizer_options& options, const beta_powers& powers,
                                 std::uint64_t clock) noexcept {
  return options.lazy ? powers_after(options, clock) : powers;
}

// Returns the rates of the next step, and moves `powers` on.
inline step_rates<float> next_rates(const optimizer_options& options, bool corrects_bias,
                                    beta_powers& powers) {
  step_rates<float> rates;
  rates.rate = options.learning_rate;
  if (corrects_bias) {
    powers.beta1 *= options.beta1;
    powers.beta2 *= options.beta2;
    rates.rate = static_cast<float>(options.learning_rate * std::sqrt(1.0 - powers.beta2) /
                                    (1.0 - powers.beta1));
  }
  rates.kept = static_cast<float>(1.0 - double{options.learning_rate} * options.weight_decay);
  return rates;
}

}  // namespace tidegate::runtime
