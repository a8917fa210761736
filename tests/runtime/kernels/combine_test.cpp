// Reductions that are no sums: each element is that of the same tree over single numbers, at
// every vector width, with gaps and without, alone and before a step.
#include "runtime/kernels/combine.hpp"

#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/optimizers/registry.hpp"
#include "tests/runtime/kernels/tree_of_numbers.hpp"
#include "tests/runtime/kernels/vector_width.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime::kernels {
namespace {

using combine_test = tests::each_width_test;
INSTANTIATE_TEST_SUITE_P(machine, combine_test, tests::machine_widths(), tests::width_name);

constexpr std::size_t lengths[] = {1, 3, 7, 64, 255, 256, 257, 1000};
constexpr reduction reductions[] = {reduction::max, reduction::min, reduction::product,
                                    reduction::any, reduction::all};

float combined(reduction by, float a, float b) {
  if (by == reduction::max) return a > b ? a : b;
  if (by == reduction::min) return a < b ? a : b;
  if (by == reduction::product) return a * b;
  if (by == reduction::any) return a != 0 ? a : b;
  return a == 0 ? a : b;
}

struct pushes {
  pushes(std::uint64_t seed, std::size_t n, std::size_t ranks, bool has_gaps) {
    rng random(seed);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      auto& values = all.emplace_back(n);
      for (std::size_t i = 0; i < n; ++i) {
        const auto drawn = random.below(8);
        values[i] = drawn == 0 ? 0.0F : drawn == 1 ? -0.0F : uniform_signed(seed + rank, i);
        if (has_gaps && random.below(3) == 0) values[i] = gap();
      }
    }
    // Rank 2 pushes nothing where there are many.
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      inputs.push_back(
          {.data = all[rank].data(), .rank = rank + (ranks > 3 && rank > 1 ? 1U : 0U)});
  }
  std::optional<float> expected(reduction by, std::size_t i) const {
    std::vector<std::optional<float>> of_ranks(16);
    for (const auto& input : inputs) {
      const auto value = static_cast<const float*>(input.data)[i];
      if (!is_gap(value)) of_ranks[input.rank] = value;
    }
    return of_tree([&](float a, float b) { return combined(by, a, b); }, of_ranks, 0,
                   of_ranks.size());
  }

  std::vector<std::vector<float>> all;
  std::vector<gradient> inputs;
};

bool is_same(float a, float b) {
  return std::memcmp(&a, &b, sizeof a) == 0;
}

TEST_P(combine_test, follows_the_tree_element_by_element) {
  for (const auto by : reductions)
    for (const auto n : lengths)
      for (const std::size_t ranks : {1, 2, 3, 4, 7})
        for (const bool has_gaps : {false, true}) {
          const pushes pushed(n + ranks, n, ranks, has_gaps);
          std::vector<float> out(n);
          tree_reduce(pushed.inputs, out.data(), n,
                      {has_gaps ? gaps::possible : gaps::none, by});
          for (std::size_t i = 0; i < n; ++i)
            ASSERT_TRUE(is_same(out[i], pushed.expected(by, i).value_or(gap())))
                << reduction_name(by) << " of " << ranks << " ranks, element " << i;
        }
}

TEST_P(combine_test, comes_before_the_step_and_is_left_where_it_is_wanted) {
  for (const auto by : reductions)
    for (const auto kind : {optimizer_kind::sgd, optimizer_kind::adam, optimizer_kind::assign})
      for (const bool has_gaps : {false, true}) {
        constexpr std::size_t n = 700;
        const pushes pushed(3, n, 4, has_gaps);
        auto options = traits_of(kind).defaults;
        options.reduce = by;
        options.lazy = has_gaps;
        std::vector<float> reduced(n);
        tree_reduce(pushed.inputs, reduced.data(), n, combination_of(options));
        const auto step = [&](std::span<const gradient> inputs, float* sum) {
          std::vector<float> w(n, 0.5F), a(n), b(n);
          beta_powers powers;
          apply_update(options, powers, inputs, 1.0F,
                       {.before = w.data(),
                        .after = w.data(),
                        .state1 = a.data(),
                        .state2 = b.data(),
                        .n = n,
                        .sum = sum});
          return w;
        };
        const gradient alone[] = {{.data = reduced.data(), .rank = 0}};
        std::vector<float> sum(n);
        EXPECT_EQ(step(pushed.inputs, sum.data()), step(alone, nullptr));
        EXPECT_EQ(std::memcmp(sum.data(), reduced.data(), n * sizeof(float)), 0);
      }
}

TEST_P(combine_test, of_first_values_are_their_assignment) {
  const pushes pushed(5, 300, 3, false);
  std::vector<float> before(300, 7.0F);
  std::vector<float> after(300);
  assign_sum(pushed.inputs, {.before = before.data(), .after = after.data(), .n = 300},
             {.by = reduction::max});
  for (std::size_t i = 0; i < after.size(); ++i)
    ASSERT_EQ(after[i], *pushed.expected(reduction::max, i));
}

TEST_P(combine_test, allocates_nothing) {
  const pushes pushed(5, 1000, 5, false);
  std::vector<float> out(1000);
  const auto before = tests::allocations();
  tree_reduce(pushed.inputs, out.data(), out.size(), {.by = reduction::min});
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime::kernels
