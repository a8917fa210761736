// Rules of plugins on chunks: steps and reductions are those of the same arithmetic over single
// numbers, whatever the blocks are, with gaps and without.
#include "runtime/kernels/plugins.hpp"

#include <cstring>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/gaps.hpp"
#include "runtime/optimizers/registry.hpp"
#include "tests/runtime/kernels/tree_of_numbers.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/plugin_rules.hpp"

namespace tidegate::runtime::kernels {
namespace {

constexpr std::size_t lengths[] = {1, 7, 255, 256, 257, 1000};

optimizer_options blend_options(bool is_lazy) {
  auto options = plugin_traits.defaults;
  options.rule = *make_rule_name("blend");
  options.rule_states = 2;
  options.learning_rate = 0.25F;
  options.beta1 = 0.5F;
  options.lazy = is_lazy;
  return options;
}

struct pushes {
  pushes(std::uint64_t seed, std::size_t n, std::size_t ranks, bool has_gaps) {
    rng random(seed);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      auto& values = all.emplace_back(n);
      for (std::size_t i = 0; i < n; ++i) {
        values[i] = uniform_signed(seed + rank, i);
        if (has_gaps && random.below(3) == 0) values[i] = gap();
      }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      inputs.push_back({.data = all[rank].data(), .rank = rank});
  }
  template <class Combine>
  std::optional<float> expected(const Combine& combine, std::size_t i) const {
    std::vector<std::optional<float>> of_ranks;
    for (const auto& values : all)
      of_ranks.push_back(is_gap(values[i]) ? std::nullopt : std::optional(values[i]));
    return of_tree(combine, of_ranks, 0, 8);
  }

  std::vector<std::vector<float>> all;
  std::vector<gradient> inputs;
};

class kernel_plugins : public testing::Test {
 protected:
  kernel_plugins() { tests::use_rules_of_tests(); }
};

TEST_F(kernel_plugins, combine_along_the_tree) {
  const combination of_sums{gaps::none, reduction::plugin, *make_rule_name("strongest")};
  for (const auto n : lengths)
    for (const std::size_t ranks : {1, 2, 3, 4, 7})
      for (const bool has_gaps : {false, true}) {
        auto rule = of_sums;
        if (has_gaps) rule.where = gaps::possible;
        const pushes pushed(n + ranks, n, ranks, has_gaps);
        std::vector<float> out(n);
        tree_reduce(pushed.inputs, out.data(), n, rule);
        for (std::size_t i = 0; i < n; ++i) {
          const auto expected = pushed.expected(tests::strongest_of, i).value_or(gap());
          ASSERT_EQ(std::memcmp(&out[i], &expected, sizeof expected), 0)
              << ranks << " ranks, element " << i;
        }
      }
}

TEST_F(kernel_plugins, make_steps_of_what_the_gradients_come_to) {
  for (const auto n : lengths)
    for (const std::size_t ranks : {1, 2, 5})
      for (const bool has_gaps : {false, true})
        for (const bool reduces : {false, true}) {
          const pushes pushed(n + ranks, n, ranks, has_gaps);
          auto options = blend_options(has_gaps);
          options.clip_value = 0.75F;
          if (reduces) {
            options.reduce = reduction::plugin;
            options.reduce_rule = *make_rule_name("strongest");
          }
          const auto added = [](float a, float b) { return a + b; };
          std::vector<float> before(n, 0.5F), after(n), first(n), second(n, 2.0F), sum(n);
          beta_powers powers;
          for (int step = 1; step <= 2; ++step) {
            const auto w = step == 1 ? before : after;
            const auto a = first, b = second;
            apply_update(options, powers, pushed.inputs, 0.5F,
                         {.before = step == 1 ? before.data() : after.data(),
                          .after = after.data(),
                          .state1 = first.data(),
                          .state2 = second.data(),
                          .n = n,
                          .sum = ranks > 1 ? sum.data() : nullptr});
            for (std::size_t i = 0; i < n; ++i) {
              const auto g =
                  reduces ? pushed.expected(tests::strongest_of, i) : pushed.expected(added, i);
              tests::blended expected{w[i], a[i], b[i]};
              if (g) expected.step(options, std::clamp(0.5F * *g, -0.75F, 0.75F), step);
              ASSERT_EQ(after[i], expected.w) << "element " << i << " of " << n;
              ASSERT_EQ(first[i], expected.a);
              ASSERT_EQ(second[i], expected.b);
              const auto kept = g.value_or(gap());
              if (ranks > 1) {
                ASSERT_EQ(std::memcmp(&sum[i], &kept, sizeof kept), 0);
              }
            }
          }
        }
}

TEST_F(kernel_plugins, read_halves_as_numbers) {
  const std::vector<std::uint16_t> halves(300, 0x3f80);  // 1 as bfloat16
  const gradient inputs[] = {{.data = halves.data(), .rank = 0, .type = element::bfloat16},
                             {.data = halves.data(), .rank = 1, .type = element::bfloat16}};
  for (const std::size_t ranks : {1, 2}) {
    std::vector<float> w(300), a(300), b(300);
    beta_powers powers;
    apply_update(blend_options(false), powers, std::span(inputs).first(ranks), 1.0F,
                 {.before = w.data(),
                  .after = w.data(),
                  .state1 = a.data(),
                  .state2 = b.data(),
                  .n = 300});
    tests::blended expected{0, 0, 0};
    expected.step(blend_options(false), static_cast<float>(ranks), 1);
    EXPECT_EQ(w, std::vector<float>(300, expected.w));
  }
}

TEST_F(kernel_plugins, allocate_nothing) {
  const pushes pushed(5, 1000, 3, false);
  std::vector<float> w(1000), a(1000), b(1000);
  beta_powers powers;
  auto options = blend_options(false);
  options.reduce = reduction::plugin;
  options.reduce_rule = *make_rule_name("strongest");
  const chunk_arrays arrays{
      .before = w.data(), .after = w.data(), .state1 = a.data(), .state2 = b.data(), .n = 1000};
  const auto before = tests::allocations();
  apply_update(options, powers, pushed.inputs, 1.0F, arrays);
  EXPECT_EQ(tests::allocations(), before);
}

}  // namespace
}  // namespace tidegate::runtime::kernels
