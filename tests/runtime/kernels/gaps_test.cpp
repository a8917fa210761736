// Gradients with gaps: each element is summed over the ranks that have pushed it and stepped,
// or kept, as if it were a chunk of its own; at every vector width.
#include "runtime/kernels/gaps.hpp"

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/update.hpp"
#include "runtime/optimizers/registry.hpp"
#include "tests/runtime/kernels/vector_width.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime::kernels {
namespace {

using gaps_test = tests::each_width_test;
INSTANTIATE_TEST_SUITE_P(machine, gaps_test, tests::machine_widths(), tests::width_name);

constexpr std::size_t lengths[] = {1, 3, 7, 64, 255, 256, 257, 1000, 2049};

// What a chunk has, and what workers push of it.
struct chunk {
  chunk(std::uint64_t seed, std::size_t n, std::size_t ranks)
      : before(n), state1(n), state2(n), after(n) {
    rng random(seed);
    for (std::size_t i = 0; i < n; ++i) {
      before[i] = uniform_signed(seed, i);
      state1[i] = uniform_signed(seed + 1, i) + 1.0F;
      state2[i] = uniform_signed(seed + 2, i) + 1.0F;
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      auto& gradient = pushed.emplace_back(n);
      for (std::size_t i = 0; i < n; ++i) gradient[i] = uniform_signed(seed + 10 + rank, i);
      // Runs of gaps of all lengths; some push nothing at all, some everything.
      for (auto first = random.below(n); random.below(4) != 0 && first < n;) {
        const auto length = 1 + random.below(n - first);
        fill_with_gaps(std::span(gradient).subspan(first, length));
        first += length + random.below(40);
      }
      inputs.push_back(
          {.data = gradient.data(), .rank = rank + (ranks > 4 && rank > 2 ? 3U : 0U)});
    }
  }

  chunk_arrays arrays() {
    return {.before = before.data(),
            .after = after.data(),
            .state1 = state1.data(),
            .state2 = state2.data(),
            .n = before.size()};
  }
  // The inputs of one element that are no gaps.
  std::vector<gradient> inputs_of(std::size_t i) const {
    std::vector<gradient> there;
    for (const auto& input : inputs) {
      const auto* data = static_cast<const float*>(input.data) + i;
      if (!is_gap(*data)) there.push_back({.data = data, .rank = input.rank});
    }
    return there;
  }

  std::vector<float> before, state1, state2, after;
  std::vector<std::vector<float>> pushed;
  std::vector<gradient> inputs;
};

bool are_alike(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

template <class Check>
void for_each_chunk(const Check& check) {
  for (const auto n : lengths)
    for (const std::size_t ranks : {1, 2, 3, 4, 5, 9})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        SCOPED_TRACE(std::to_string(n) + " elements, " + std::to_string(ranks) +
                     " ranks, seed " + std::to_string(seed));
        check(mix64(seed * 1000 + n * 10 + ranks), n, ranks);
        if (testing::Test::HasFailure()) return;
      }
}

TEST_P(gaps_test, each_element_is_stepped_with_what_is_there) {
  for (const auto& traits : dense_optimizers) {
    auto options = traits.defaults;
    options.clip_value = 0.5F;
    options.l1 = 0.3F;
    options.l2 = 0.2F;
    for_each_chunk([&](std::uint64_t seed, std::size_t n, std::size_t ranks) {
      chunk got(seed, n, ranks), expected(seed, n, ranks);
      auto lazy = options;
      lazy.lazy = true;
      beta_powers powers{0.5, 0.25};
      apply_update(lazy, powers, got.inputs, 0.25F, got.arrays());
      for (std::size_t i = 0; i < n; ++i) {
        expected.after[i] = expected.before[i];
        const auto inputs = expected.inputs_of(i);
        if (inputs.empty()) continue;
        beta_powers of_element{0.5, 0.25};
        apply_update(options, of_element, inputs, 0.25F,
                     {.before = &expected.before[i],
                      .after = &expected.after[i],
                      .state1 = &expected.state1[i],
                      .state2 = &expected.state2[i],
                      .n = 1});
        ASSERT_EQ(of_element.beta1, powers.beta1);
      }
      EXPECT_TRUE(are_alike(got.after, expected.after)) << traits.name;
      EXPECT_TRUE(are_alike(got.state1, expected.state1)) << traits.name;
      EXPECT_TRUE(are_alike(got.state2, expected.state2)) << traits.name;
    });
  }
}

TEST_P(gaps_test, a_sum_has_gaps_where_nobody_has_pushed) {
  for_each_chunk([&](std::uint64_t seed, std::size_t n, std::size_t ranks) {
    chunk of(seed, n, ranks);
    std::vector<float> expected(n, gap());
    for (std::size_t i = 0; i < n; ++i)
      if (const auto inputs = of.inputs_of(i); !inputs.empty())
        tree_sum(inputs, &expected[i], 1);
    std::vector<float> sum(n);
    tree_sum(of.inputs, sum.data(), n, gaps::possible);
    EXPECT_TRUE(are_alike(sum, expected));
    // A step of one chunk leaves the same sum.
    if (ranks > 1) {
      auto arrays = of.arrays();
      std::vector<float> kept(n);
      arrays.sum = kept.data();
      optimizer lazy;
      lazy.lazy = true;
      beta_powers powers;
      apply_update(lazy, powers, of.inputs, 1.0F, arrays);
      EXPECT_TRUE(are_alike(kept, expected));
    }
    // Groups of ranks may be summed first.
    if (ranks == 4) {
      std::vector<float> halves[2] = {std::vector<float>(n), std::vector<float>(n)};
      for (std::size_t half = 0; half < 2; ++half)
        tree_sum(std::span(of.inputs).subspan(2 * half, 2), halves[half].data(), n,
                 gaps::possible);
      tree_sum(std::vector<gradient>{{.data = halves[0].data(), .rank = 0},
                                     {.data = halves[1].data(), .rank = 2}},
               sum.data(), n, gaps::possible);
      EXPECT_TRUE(are_alike(sum, expected));
    }
  });
}

TEST_P(gaps_test, squares_count_a_gap_as_zero) {
  for_each_chunk([&](std::uint64_t seed, std::size_t n, std::size_t ranks) {
    const chunk of(seed, n, ranks);
    std::vector<float> sum(n);
    tree_sum(of.inputs, sum.data(), n, gaps::possible);
    for (auto& x : sum)
      if (is_gap(x)) x = 0.0F;
    const std::vector<gradient> whole{{.data = sum.data(), .rank = 0}};
    EXPECT_EQ(squares_of_sum(of.inputs, 0.5F, n, gaps::possible),
              squares_of_sum(whole, 0.5F, n));
  });
}

TEST_P(gaps_test, initial_values_that_are_pushed_leave_the_others) {
  for_each_chunk([&](std::uint64_t seed, std::size_t n, std::size_t ranks) {
    chunk of(seed, n, ranks);
    std::vector<float> sum(n);
    tree_sum(of.inputs, sum.data(), n, gaps::possible);
    assign_sum(of.inputs, of.arrays(), {.where = gaps::possible});
    for (std::size_t i = 0; i < n; ++i)
      ASSERT_EQ(of.after[i], is_gap(sum[i]) ? of.before[i] : sum[i]);
  });
}

// A lazy table whose workers push all of it makes the steps of another one.
TEST_P(gaps_test, without_gaps_nothing_changes) {
  chunk lazy(7, 1000, 1), eager(7, 1000, 1);
  for (auto* of : {&lazy, &eager}) {
    of->pushed.assign(4, std::vector<float>(1000));
    of->inputs.clear();
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      for (std::size_t i = 0; i < 1000; ++i) of->pushed[rank][i] = uniform_signed(rank, i);
      of->inputs.push_back({.data = of->pushed[rank].data(), .rank = rank});
    }
  }
  auto options = traits_of(optimizer_kind::adamw).defaults;
  beta_powers powers, lazy_powers;
  apply_update(options, powers, eager.inputs, 0.25F, eager.arrays());
  options.lazy = true;
  apply_update(options, lazy_powers, lazy.inputs, 0.25F, lazy.arrays());
  EXPECT_TRUE(are_alike(lazy.after, eager.after));
  EXPECT_TRUE(are_alike(lazy.state2, eager.state2));
}

TEST_P(gaps_test, no_other_nan_is_a_gap) {
  constexpr auto limits_nan = std::numeric_limits<float>::quiet_NaN();
  const float a[] = {limits_nan, 1.0F, gap(), gap()};
  const float b[] = {gap(), limits_nan, gap(), 2.0F};
  float sum[4] = {};
  add_around_gaps(a, b, sum, 4);
  EXPECT_TRUE(std::isnan(sum[0]) && !is_gap(sum[0]));
  EXPECT_TRUE(std::isnan(sum[1]) && !is_gap(sum[1]));
  EXPECT_TRUE(is_gap(sum[2]));
  EXPECT_EQ(sum[3], 2.0F);
}

TEST_P(gaps_test, nothing_is_allocated) {
  chunk of(3, 1000, 5);
  std::vector<float> sum(1000);
  optimizer lazy;
  lazy.lazy = true;
  beta_powers powers;
  const auto before = tests::allocations();
  apply_update(lazy, powers, of.inputs, 1.0F, of.arrays());
  tree_sum(of.inputs, sum.data(), sum.size(), gaps::possible);
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime::kernels
