// The bodies of the kernels of rows, run on this CPU, leave the bytes of step_row().

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/cuda/row_body.hpp"
#include "runtime/kernels/row_step.hpp"
#include "tests/runtime/kernels/cuda/emulation.hpp"

namespace tidegate::runtime::kernels {
namespace {

using floats = std::vector<float>;

bool is_same(const floats& a, const floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

floats draw(rng& random, std::size_t count) {
  floats values(count);
  for (auto& value : values)
    value = static_cast<float>(static_cast<double>(random.below(2001)) / 1000.0 - 1.0);
  return values;
}

optimizer_options options_of(optimizer_kind kind, rng& random) {
  auto options = traits_of(kind).defaults;
  options.learning_rate = 0.05F;
  if (contains(traits_of(kind).options, optimizer_option::l1)) options.l1 = 0.125F;
  if (contains(traits_of(kind).options, optimizer_option::l2)) options.l2 = 0.01F;
  if (contains(traits_of(kind).options, optimizer_option::l21)) options.l21 = 0.03F;
  if (contains(traits_of(kind).options, optimizer_option::clip_value) && random.below(2) == 0)
    options.clip_value = 0.4F;
  return options;
}

// Rows that are wider than what is stepped: a segment of them, and nothing beside it changes.
TEST(row_bodies, leave_the_bytes_of_the_formulas) {
  rng random(7);
  int kinds = 0;
  for (const auto& traits : optimizers_known) {
    if (!traits.steps_rows) continue;
    ++kinds;
    for (const std::uint32_t columns : {1U, 2U, 15U, 16U, 31U, 32U, 33U, 64U, 100U, 257U}) {
      SCOPED_TRACE(testing::Message() << traits.name << ", " << columns << " columns");
      const auto options = options_of(traits.kind, random);
      const auto state = state_floats(options, columns);
      const row_columns at{.first = 3, .columns = columns, .state = 2};
      const std::size_t rows = 9, wide = columns + 5, wide_state = state + 4;
      auto values = draw(random, rows * wide), expected_values = values;
      floats states(rows * wide_state, 0.25F), expected_states = states;
      for (std::uint64_t clock = 0; clock < 4; ++clock) {
        const auto gradients = draw(random, rows * wide);
        const auto c = coefficients_of(options, {.clock = clock, .scale = 0.375F}, columns);
        std::vector<row_addresses> places;
        for (std::size_t row = 0; row < rows; row += 2) {
          places.push_back({.values = values.data() + row * wide,
                            .state = states.data() + row * wide_state,
                            .gradient = gradients.data() + row * wide});
          step_row(c, std::span(gradients).subspan(row * wide + at.first, columns),
                   std::span(expected_values).subspan(row * wide + at.first, columns),
                   std::span(expected_states).subspan(row * wide_state + at.state, state));
        }
        tests::emulate_row_step(constants_of(c), at, places);
        ASSERT_TRUE(is_same(values, expected_values)) << "clock " << clock;
        ASSERT_TRUE(is_same(states, expected_states)) << "clock " << clock;
      }
    }
  }
  EXPECT_EQ(kinds, 7);
}

TEST(row_bodies, copy_and_clear) {
  for (const bool is_aligned : {false, true}) {
    alignas(16) float from[24], to[24];
    for (int i = 0; i < 24; ++i) from[i] = static_cast<float>(i + 1), to[i] = -1;
    const std::vector<row_copy> rows{{.to = to + 8, .from = from}, {.to = to + 16}};
    tests::emulate_row_copy(rows, 8, is_aligned);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(to[i], -1);
      EXPECT_EQ(to[8 + i], static_cast<float>(i + 1));
      EXPECT_EQ(to[16 + i], 0);
    }
  }
}

}  // namespace
}  // namespace tidegate::runtime::kernels
