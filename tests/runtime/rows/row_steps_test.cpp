// The bits of row optimizers: each vector width that the machine has against the scalar
// formulas, and the formulas against their papers, written out.

#include "runtime/rows/row_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/row_step.hpp"
#include "runtime/optimizers/row_check.hpp"
#include "tests/runtime/kernels/vector_width.hpp"
#include "tests/runtime/rows/row_kinds.hpp"

namespace tidegate::runtime {
namespace {

using floats = std::vector<float>;

using row_widths_test = tests::each_width_test;
INSTANTIATE_TEST_SUITE_P(machine, row_widths_test, tests::machine_widths(), tests::width_name);

optimizer_options options_of(optimizer_kind kind) {
  optimizer_options options;
  options.kind = kind;
  options.learning_rate = 0.05F;
  options.epsilon = 1e-6F;
  options.l1 = 0.03F;
  options.l2 = 0.01F;
  options.l21 = 0.02F;
  return options;
}

float random_float(std::uint64_t seed, std::uint64_t i) {
  const auto bits = mix64(seed * 1'000'003 + i);
  if (bits % 40 == 0) return 0.0F;
  if (bits % 40 == 1) return uniform_signed(seed, i) * 1e-39F;  // subnormal
  return uniform_signed(seed, i) * std::ldexp(1.0F, static_cast<int>(bits % 12) - 8);
}

floats random_floats(std::uint64_t seed, std::size_t count) {
  floats numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = random_float(seed, i);
  return numbers;
}

bool same(const floats& a, const floats& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Where gradients of rows of `dim` values lie.
std::vector<const float*> rows_of(const floats& gradients, std::size_t dim) {
  std::vector<const float*> rows;
  for (std::size_t i = 0; i < gradients.size(); i += dim) rows.push_back(gradients.data() + i);
  return rows;
}

// Some rows of a table, in arrays of their own.
struct table_of_rows {
  std::size_t dim, state, value_stride, state_stride;
  floats values, states;
  std::vector<row_use> uses;

  table_of_rows(optimizer_kind kind, std::uint32_t columns, std::size_t rows)
      : dim(columns),
        state(state_floats({.kind = kind}, columns)),
        value_stride(row_stride(columns)),
        state_stride(state == 0 ? 0 : row_stride(state)),
        values(random_floats(1, rows * value_stride)),
        states(rows * state_stride),
        uses(rows) {}

  rows::row_arrays arrays() {
    return {.values = values.data(),
            .value_stride = value_stride,
            .states = states.data(),
            .state_stride = state_stride,
            .uses = uses.data(),
            .dim = dim};
  }
  void step_by_formula(const row_coefficients& c, row_number row, const float* gradient) {
    step_row(c, {gradient, dim}, std::span(values).subspan(row * value_stride, dim),
             std::span(states).subspan(row * state_stride, state));
  }
};

TEST_P(row_widths_test, every_optimizer_equals_its_formula) {
  constexpr std::size_t rows = 40;
  for (const auto kind : row_optimizers())
    for (const std::uint32_t dim :
         {1U, 2U, 3U, 7U, 8U, 15U, 16U, 31U, 32U, 33U, 64U, 100U, 257U, limits::row_dim_max}) {
      SCOPED_TRACE(testing::Message() << optimizer_name(kind) << ", dim " << dim);
      table_of_rows got(kind, dim, rows), expected(kind, dim, rows);
      std::vector<row_number> numbers;
      for (row_number i = 0; i < rows; i += 2) numbers.push_back((i * 7 + 3) % rows);
      for (std::uint64_t clock = 0; clock < 4; ++clock) {
        const auto gradients = random_floats(10 + clock, numbers.size() * dim);
        const auto c =
            coefficients_of(options_of(kind), {.clock = clock, .scale = 0.375F}, dim);
        rows::step_rows(c, clock, got.arrays(), numbers, rows_of(gradients, dim).data());
        for (std::size_t i = 0; i < numbers.size(); ++i)
          expected.step_by_formula(c, numbers[i], gradients.data() + i * dim);
        ASSERT_TRUE(same(got.values, expected.values)) << "clock " << clock;
        ASSERT_TRUE(same(got.states, expected.states)) << "clock " << clock;
      }
      for (row_number row = 0; row < rows; ++row) {
        const bool pushed = std::count(numbers.begin(), numbers.end(), row) == 1;
        ASSERT_EQ(got.uses[row].pushes, pushed ? 4U : 0U);
        ASSERT_EQ(got.uses[row].clock, pushed ? 3U : 0U);
      }
    }
}

TEST_P(row_widths_test, subnormals_are_not_flushed) {
  table_of_rows rows(optimizer_kind::sgd, 19, 1);
  std::fill(rows.values.begin(), rows.values.end(), 0.0F);
  const floats tiny(19, std::numeric_limits<float>::denorm_min());
  optimizer_options options;
  options.learning_rate = 1;
  const std::vector<row_number> numbers{0};
  rows::step_rows(coefficients_of(options, {}, 19), 0, rows.arrays(), numbers,
                  rows_of(tiny, 19).data());
  for (std::size_t i = 0; i < 19; ++i)
    ASSERT_EQ(rows.values[i], -std::numeric_limits<float>::denorm_min());
}

TEST_P(row_widths_test, a_gradient_that_is_no_number_shows_in_the_row) {
  for (const auto kind : row_optimizers()) {
    table_of_rows rows(kind, 20, 1);
    floats gradient(20, 0.5F);
    gradient[17] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<row_number> numbers{0};
    rows::step_rows(coefficients_of(options_of(kind), {}, 20), 0, rows.arrays(), numbers,
                    rows_of(gradient, 20).data());
    EXPECT_TRUE(std::isnan(rows.values[17])) << optimizer_name(kind);
  }
}

// 4,094 squares that are lost where each is added to 1 by itself, and that decide how the sum
// is rounded where they are added up among themselves first.
TEST_P(row_widths_test, sums_over_a_row_are_dealt_to_many_numbers) {
  constexpr std::uint32_t dim = 4096;
  table_of_rows rows(optimizer_kind::rowwise_adagrad, dim, 1);
  floats gradient(dim, 0x1p-27F);
  gradient[0] = 1;
  gradient[1] = 0x1p-12F;
  const std::vector<row_number> numbers{0};
  const auto c = coefficients_of(options_of(optimizer_kind::rowwise_adagrad), {}, dim);
  rows::step_rows(c, 0, rows.arrays(), numbers, rows_of(gradient, dim).data());
  EXPECT_EQ(rows.states[0], (1 + 0x1p-23F) / dim);
}

// Steps of one row with four columns, by the product and by a formula in float64.
constexpr std::size_t columns = 4;
using doubles = std::array<double, columns>;

template <class Formula>
void expect_formula(const optimizer_options& options, Formula formula) {
  table_of_rows row(options.kind, columns, 1);
  doubles w{};
  for (std::size_t i = 0; i < columns; ++i) w[i] = row.values[i];
  for (std::uint64_t clock = 0; clock < 20; ++clock) {
    const auto gradient = random_floats(50 + clock, columns);
    row.step_by_formula(coefficients_of(options, {.clock = clock}, columns), 0,
                        gradient.data());
    doubles g{};
    std::copy(gradient.begin(), gradient.end(), g.begin());
    formula(w, g, clock);
    for (std::size_t i = 0; i < columns; ++i)
      ASSERT_NEAR(row.values[i], w[i], 2e-5 * (1 + std::abs(w[i])))
          << optimizer_name(options.kind) << ", clock " << clock << ", column " << i;
  }
}

TEST(row_optimizers, sgd) {
  expect_formula(options_of(optimizer_kind::sgd),
                 [](doubles& w, const doubles& g, std::uint64_t) {
                   for (std::size_t i = 0; i < columns; ++i) w[i] -= 0.05 * g[i];
                 });
}

TEST(row_optimizers, adagrad) {
  doubles n{};
  expect_formula(options_of(optimizer_kind::adagrad),
                 [&](doubles& w, const doubles& g, std::uint64_t) {
                   for (std::size_t i = 0; i < columns; ++i) {
                     n[i] += g[i] * g[i];
                     w[i] -= g[i] == 0 ? 0 : 0.05 * g[i] / (std::sqrt(n[i]) + 1e-6);
                   }
                 });
}

TEST(row_optimizers, rowwise_adagrad) {
  double n = 0;
  expect_formula(options_of(optimizer_kind::rowwise_adagrad),
                 [&](doubles& w, const doubles& g, std::uint64_t) {
                   double squares = 0;
                   for (const double x : g) squares += x * x;
                   n += squares / columns;
                   for (std::size_t i = 0; i < columns; ++i)
                     w[i] -= 0.05 * g[i] / (std::sqrt(n) + 1e-6);
                 });
}

TEST(row_optimizers, adam_corrects_by_the_clock) {
  doubles m{}, v{};
  const auto options = options_of(optimizer_kind::adam);
  expect_formula(options, [&](doubles& w, const doubles& g, std::uint64_t clock) {
    const double b1 = options.beta1, b2 = options.beta2;
    const auto t = static_cast<double>(clock + 1);
    const double rate = 0.05 * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
    for (std::size_t i = 0; i < columns; ++i) {
      m[i] = b1 * m[i] + (1 - b1) * g[i];
      v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
      w[i] -= rate * m[i] / (std::sqrt(v[i]) + 1e-6);
    }
  });
}

double soft(double z, double l1) {
  return std::abs(z) <= l1 ? 0 : z - std::copysign(l1, z);
}

TEST(row_optimizers, proximal) {
  std::size_t zeros = 0;
  auto options = options_of(optimizer_kind::proximal);
  options.l1 = 0.5F;
  options.l2 = 2;
  expect_formula(options, [&](doubles& w, const doubles& g, std::uint64_t) {
    for (std::size_t i = 0; i < columns; ++i) {
      w[i] = soft(w[i] - 0.05 * g[i], 0.05 * 0.5) / (1 + 0.05 * 2);
      zeros += w[i] == 0 ? 1 : 0;
    }
  });
  EXPECT_GT(zeros, 0U) << "l1 makes some exactly 0";
}

// As a table of one column each has it: so a row of any width may be cut into rows.
TEST(row_optimizers, proximal_steps_element_by_element) {
  auto options = options_of(optimizer_kind::proximal);
  table_of_rows wide(options.kind, columns, 1);
  const auto before = wide.values;
  const auto gradient = random_floats(9, columns);
  wide.step_by_formula(coefficients_of(options, {}, columns), 0, gradient.data());
  for (std::size_t i = 0; i < columns; ++i) {
    table_of_rows narrow(options.kind, 1, 1);
    narrow.values[0] = before[i];
    narrow.step_by_formula(coefficients_of(options, {}, 1), 0, &gradient[i]);
    EXPECT_EQ(narrow.values[0], wide.values[i]) << i;
  }
}

TEST(row_optimizers, ftrl) {
  doubles z{}, n{};
  std::size_t zeros = 0;
  auto options = options_of(optimizer_kind::ftrl);
  options.l1 = 2;
  expect_formula(options, [&](doubles& w, const doubles& g, std::uint64_t) {
    for (std::size_t i = 0; i < columns; ++i) {
      const double sigma = (std::sqrt(n[i] + g[i] * g[i]) - std::sqrt(n[i])) / 0.05;
      z[i] += g[i] - sigma * w[i];
      n[i] += g[i] * g[i];
      w[i] = -soft(z[i], 2) / ((1 + std::sqrt(n[i])) / 0.05 + 0.01);
      zeros += w[i] == 0 ? 1 : 0;
    }
  });
  EXPECT_GT(zeros, 0U) << "l1 makes some exactly 0";
}

// Nothing divides it then but what the options add.
TEST(row_optimizers, a_first_gradient_of_0_is_no_nan) {
  for (const auto kind : {optimizer_kind::ftrl, optimizer_kind::group_adagrad}) {
    auto options = options_of(kind);
    options.beta = options.l2 = options.epsilon = options.l1 = options.l21 = 0.0F;
    const auto c = coefficients_of(options, {}, columns);
    const floats zeros(columns);
    const std::vector<row_number> numbers{0};
    table_of_rows row(kind, columns, 1), by_formula(kind, columns, 1);
    rows::step_rows(c, 0, row.arrays(), numbers, rows_of(zeros, columns).data());
    by_formula.step_by_formula(c, 0, zeros.data());
    for (std::size_t i = 0; i < columns; ++i) {
      EXPECT_FALSE(std::isnan(row.values[i])) << i;
      EXPECT_EQ(row.values[i], by_formula.values[i]) << i;
    }
  }
}

TEST(row_optimizers, group_adagrad) {
  doubles z{}, n{};
  std::size_t zeros = 0, others = 0;
  expect_formula(options_of(optimizer_kind::group_adagrad), [&](doubles& w, const doubles& g,
                                                                std::uint64_t) {
    doubles s{};
    double squares = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      const double sigma = (std::sqrt(n[i] + g[i] * g[i]) - std::sqrt(n[i])) / 0.05;
      z[i] += g[i] - sigma * w[i];
      n[i] += g[i] * g[i];
      s[i] = soft(z[i], 0.03);
      squares += s[i] * s[i];
    }
    const double bound = std::sqrt(columns) * 0.02, norm = std::sqrt(squares);
    ++(norm <= bound ? zeros : others);
    for (std::size_t i = 0; i < columns; ++i)
      w[i] = norm <= bound
                 ? 0
                 : -(1 - bound / norm) * s[i] / ((1e-6 + std::sqrt(n[i])) / 0.05 + 2 * 0.01);
  });
  EXPECT_GT(others, 0U);
}

TEST(row_optimizers, a_group_whose_norm_is_within_the_bound_is_zero) {
  auto options = options_of(optimizer_kind::group_adagrad);
  options.l1 = 0;
  options.l21 = 1'000;
  table_of_rows row(options.kind, columns, 1);
  const floats gradient{0.5F, -0.25F, 1, 0};
  row.step_by_formula(coefficients_of(options, {}, columns), 0, gradient.data());
  for (std::size_t i = 0; i < columns; ++i) EXPECT_EQ(row.values[i], 0.0F);
}

TEST(row_optimizers, group_adagrad_without_regularizers_is_adagrad) {
  optimizer_options options;
  options.kind = optimizer_kind::group_adagrad;
  options.learning_rate = 0.05F;
  options.epsilon = 0;
  table_of_rows row(options.kind, columns, 1), other(optimizer_kind::adagrad, columns, 1);
  auto plain = options;
  plain.kind = optimizer_kind::adagrad;
  for (std::uint64_t clock = 0; clock < 10; ++clock) {
    floats gradient(columns);
    for (std::size_t i = 0; i < columns; ++i)
      gradient[i] = 0.1F + 0.3F * static_cast<float>((clock + i) % 3);
    row.step_by_formula(coefficients_of(options, {}, columns), 0, gradient.data());
    other.step_by_formula(coefficients_of(plain, {}, columns), 0, gradient.data());
    for (std::size_t i = 0; i < columns; ++i) ASSERT_NEAR(row.values[i], other.values[i], 1e-5);
  }
}

TEST(row_optimizers, have_names_and_limits) {
  for (const auto kind : row_optimizers()) {
    EXPECT_EQ(find_optimizer(optimizer_name(kind)), kind);
    EXPECT_TRUE(check_row_optimizer(options_of(kind)).ok());
    for (float optimizer_options::*option :
         {&optimizer_options::learning_rate, &optimizer_options::beta1,
          &optimizer_options::beta2, &optimizer_options::epsilon, &optimizer_options::beta,
          &optimizer_options::l1, &optimizer_options::l2, &optimizer_options::l21})
      for (const float bad : {-0.5F, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity()}) {
        auto options = options_of(kind);
        options.*option = bad;
        EXPECT_EQ(check_row_optimizer(options).code(), errc::invalid_argument);
      }
  }
  EXPECT_EQ(row_optimizers().size(), 7U);
  optimizer_options momentum;
  momentum.kind = optimizer_kind::momentum;
  EXPECT_EQ(check_row_optimizer(momentum).code(), errc::invalid_argument);
  EXPECT_EQ(state_floats({.kind = optimizer_kind::rowwise_adagrad}, 64), 1U);
  EXPECT_EQ(state_floats({.kind = optimizer_kind::ftrl}, 64), 128U);
  EXPECT_EQ(state_floats({.kind = optimizer_kind::proximal}, 64), 0U);
}

}  // namespace
}  // namespace tidegate::runtime
