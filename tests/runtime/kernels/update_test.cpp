#include "runtime/kernels/update.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/optimizers/registry.hpp"
#include "tests/runtime/kernels/update_reference.hpp"

namespace tidegate::runtime::kernels {
namespace {

using values = std::vector<float>;

values random_values(std::uint64_t seed, std::size_t n) {
  values result(n);
  for (std::size_t i = 0; i < n; ++i)
    result[i] =
        uniform_signed(seed, i) * std::ldexp(1.0F, static_cast<int>(mix64(i) % 30) - 15);
  return result;
}

bool same_bits(const values& a, const values& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(tree_sum, equals_its_definition_for_every_set_of_ranks) {
  constexpr std::size_t n = 2500;  // more than two blocks, not a multiple
  std::vector<values> data;
  for (std::uint64_t rank = 0; rank < 9; ++rank) data.push_back(random_values(rank, n));
  for (unsigned set = 1; set < (1u << 9); ++set) {
    std::vector<gradient> inputs;
    for (std::uint32_t rank = 0; rank < 9; ++rank)
      if (set >> rank & 1) inputs.push_back({data[rank].data(), rank});
    values sum(n);
    tree_sum(inputs, sum.data(), n);
    for (std::size_t i = 0; i < n; i += 97) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(sum[i]),
                std::bit_cast<std::uint32_t>(tests::reference_sum(inputs, i)))
          << "ranks " << set << " element " << i;
    }
  }
}

TEST(tree_sum, an_aligned_group_summed_first_gives_the_same_bits) {
  constexpr std::size_t n = 1500;
  std::vector<values> data;
  std::vector<gradient> all;
  for (std::uint32_t rank = 0; rank < 7; ++rank) {
    data.push_back(random_values(rank, n));
    all.push_back({data.back().data(), rank});
  }
  values direct(n), group(n), combined(n);
  tree_sum(all, direct.data(), n);
  tree_sum(std::span(all).subspan(4, 3), group.data(), n);  // ranks 4..6
  std::vector<gradient> with_group(all.begin(), all.begin() + 4);
  with_group.push_back({group.data(), 4});
  tree_sum(with_group, combined.data(), n);
  EXPECT_TRUE(same_bits(direct, combined));
}

TEST(tree_sum, differs_from_the_order_of_arrival) {
  // If it did not, the tests of same bits would show nothing.
  constexpr std::size_t n = 1000;
  std::vector<values> data;
  std::vector<gradient> all;
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    data.push_back(random_values(rank, n));
    all.push_back({data.back().data(), rank});
  }
  values tree(n), arrival(n, 0.0F);
  tree_sum(all, tree.data(), n);
  for (int rank : {3, 1, 0, 2})
    for (std::size_t i = 0; i < n; ++i) arrival[i] += data[static_cast<std::size_t>(rank)][i];
  EXPECT_FALSE(same_bits(tree, arrival));
}

struct model {
  values w, s1, s2;
};

// The formula of the optimizer's header in doubles; the state is float32, as a shard's.
void reference_step(const optimizer& options, int step, const values& g, model& m) {
  runtime::step_rates<double> rates;
  rates.rate = options.learning_rate;
  rates.kept = 1.0 - double{options.learning_rate} * options.weight_decay;
  if (runtime::traits_of(options.kind).corrects_bias)
    rates.rate *= std::sqrt(1 - std::pow(double{options.beta2}, step)) /
                  (1 - std::pow(double{options.beta1}, step));
  runtime::visit_optimizer(options.kind, [&](auto formula) {
    for (std::size_t i = 0; i < g.size(); ++i) {
      double w = m.w[i], first = m.s1[i], second = m.s2[i];
      decltype(formula)::step(options, rates, double{g[i]}, w, first, second);
      m.w[i] = static_cast<float>(w);
      m.s1[i] = static_cast<float>(first);
      m.s2[i] = static_cast<float>(second);
    }
  });
}

std::vector<optimizer_kind> all_kinds() {
  std::vector<optimizer_kind> kinds;
  for (const auto& traits : runtime::dense_optimizers) kinds.push_back(traits.kind);
  return kinds;
}

class optimizer_test : public testing::TestWithParam<optimizer_kind> {};

TEST_P(optimizer_test, follows_its_formula_in_and_out_of_place) {
  constexpr std::size_t n = 1100;
  optimizer options;
  options.kind = GetParam();
  options.learning_rate = 0.05F;
  options.weight_decay = 0.1F;  // no other than adamw may look at it
  options.l1 = 0.2F;            // nor than proximal at these
  options.l2 = 0.3F;
  model reference{.w = random_values(1, n), .s1 = values(n, 0.0F), .s2 = values(n, 0.0F)};
  for (auto& w : reference.w) w = std::fmod(w, 1.0F);
  model in = reference, out = reference;
  beta_powers powers_in, powers_out;
  for (int step = 1; step <= 20; ++step) {
    values a(n), b(n), mean(n), fresh(n), kept(n), sum(n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i] = uniform_signed(100 + step, i);
      b[i] = uniform_signed(900 + step, i);
      mean[i] = 0.5F * (a[i] + b[i]);
    }
    const std::vector<gradient> inputs{{a.data(), 0}, {b.data(), 1}};
    reference_step(options, step, mean, reference);
    apply_update(options, powers_in, inputs, 0.5F,
                 {.before = in.w.data(),
                  .after = in.w.data(),
                  .state1 = in.s1.data(),
                  .state2 = in.s2.data(),
                  .n = n});
    apply_update(options, powers_out, inputs, 0.5F,
                 {.before = out.w.data(),
                  .after = fresh.data(),
                  .state1 = out.s1.data(),
                  .state2 = out.s2.data(),
                  .n = n,
                  .sum = kept.data()});
    tree_sum(inputs, sum.data(), n);
    EXPECT_TRUE(same_bits(kept, sum));
    out.w = fresh;
  }
  EXPECT_TRUE(same_bits(in.w, out.w));
  EXPECT_TRUE(same_bits(in.s1, out.s1));
  for (std::size_t i = 0; i < n; ++i) ASSERT_NEAR(in.w[i], reference.w[i], 2e-5) << i;
}

TEST_P(optimizer_test, chunking_does_not_change_a_bit) {
  constexpr std::size_t n = 3000;
  optimizer options;
  options.kind = GetParam();
  const auto a = random_values(5, n), b = random_values(6, n), c = random_values(7, n);
  model whole{.w = random_values(1, n), .s1 = values(n, 0.1F), .s2 = values(n, 0.2F)};
  model parts = whole;
  beta_powers powers;
  apply_update(options, powers,
               std::vector<gradient>{{a.data(), 0}, {b.data(), 1}, {c.data(), 2}}, 1.0F / 3,
               {.before = whole.w.data(),
                .after = whole.w.data(),
                .state1 = whole.s1.data(),
                .state2 = whole.s2.data(),
                .n = n});
  for (std::size_t first = 0; first < n; first += 48) {
    const auto length = std::min<std::size_t>(48, n - first);
    beta_powers own;
    apply_update(options, own,
                 std::vector<gradient>{
                     {a.data() + first, 0}, {b.data() + first, 1}, {c.data() + first, 2}},
                 1.0F / 3,
                 {.before = parts.w.data() + first,
                  .after = parts.w.data() + first,
                  .state1 = parts.s1.data() + first,
                  .state2 = parts.s2.data() + first,
                  .n = length});
  }
  EXPECT_TRUE(same_bits(whole.w, parts.w));
  EXPECT_TRUE(same_bits(whole.s1, parts.s1));
  EXPECT_TRUE(same_bits(whole.s2, parts.s2));
}

TEST_P(optimizer_test, steps_with_what_clipping_leaves_of_the_gradient) {
  constexpr auto infinity = std::numeric_limits<float>::infinity();
  const values a{0.5F, -0.5F, 3.0F, -3.0F, 1.0F, -1.0F, infinity, -infinity, 0.0F};
  const values clipped{0.5F, -0.5F, 1.0F, -1.0F, 1.0F, -1.0F, 1.0F, -1.0F, 0.0F};
  const auto n = a.size();
  optimizer options;
  options.kind = GetParam();
  const auto step = [&](const values& gradients, float scale) {
    values w(n, 1.0F), first(n, 0.5F), second(n, 0.5F);
    beta_powers powers;
    apply_update(options, powers, std::vector<gradient>{{gradients.data(), 0}}, scale,
                 {.before = w.data(),
                  .after = w.data(),
                  .state1 = first.data(),
                  .state2 = second.data(),
                  .n = n});
    w.insert(w.end(), first.begin(), first.end());
    w.insert(w.end(), second.begin(), second.end());
    return w;
  };
  const auto expected = step(clipped, 1.0F);
  EXPECT_FALSE(same_bits(step(a, 1.0F), expected)) << "without a limit it is another step";
  options.clip_value = 1.0F;
  EXPECT_TRUE(same_bits(step(a, 1.0F), expected));
  values twice = a;
  for (auto& g : twice) g *= 2;
  EXPECT_TRUE(same_bits(step(twice, 0.5F), expected)) << "what is clipped is the mean";
}

TEST_P(optimizer_test, clipping_does_not_hide_a_nan) {
  optimizer options;
  options.kind = GetParam();
  options.clip_value = 1.0F;
  // Long enough for a vector, and for the elements behind it.
  const values g(19, std::numeric_limits<float>::quiet_NaN());
  values w(g.size(), 1.0F), first(g.size(), 0.0F), second(g.size(), 0.0F);
  beta_powers powers;
  apply_update(options, powers, std::vector<gradient>{{g.data(), 0}}, 1.0F,
               {.before = w.data(),
                .after = w.data(),
                .state1 = first.data(),
                .state2 = second.data(),
                .n = g.size()});
  for (const auto x : w) EXPECT_TRUE(std::isnan(x));
}

INSTANTIATE_TEST_SUITE_P(kinds, optimizer_test, testing::ValuesIn(all_kinds()));

TEST(assign_sum, sets_the_parameters_to_the_sum_and_leaves_the_state) {
  constexpr std::size_t n = 1500;
  const auto first = random_values(1, n), second = random_values(2, n);
  const values before(n, 5.0F), state(n, 7.0F);
  for (const bool both : {false, true}) {
    std::vector<gradient> inputs{{first.data(), 3}};
    if (both) inputs.push_back({second.data(), 4});
    values expected(n), after(n), kept(n), state1 = state;
    tree_sum(inputs, expected.data(), n);
    assign_sum(inputs, {.before = before.data(),
                        .after = after.data(),
                        .state1 = state1.data(),
                        .state2 = nullptr,
                        .n = n,
                        .sum = both ? kept.data() : nullptr});
    EXPECT_TRUE(same_bits(after, expected));
    EXPECT_TRUE(same_bits(state1, state));
    if (both) {
      EXPECT_TRUE(same_bits(kept, expected));
    }
  }
}

TEST(first_not_finite, finds_each_kind_anywhere) {
  values data(5000, 1.0F);
  EXPECT_EQ(first_not_finite(data.data(), data.size()), data.size());
  for (float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()})
    for (std::size_t at : {0ul, 1023ul, 1024ul, 4999ul}) {
      data[at] = bad;
      EXPECT_EQ(first_not_finite(data.data(), data.size()), at);
      data[at] = std::numeric_limits<float>::max();
    }
  EXPECT_EQ(first_not_finite(nullptr, 0), 0u);
}

}  // namespace
}  // namespace tidegate::runtime::kernels
