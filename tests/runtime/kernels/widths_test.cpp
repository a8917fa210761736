// The same bits at every vector width: each width that the machine has against a scalar
// reference.

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/roofline.hpp"
#include "runtime/kernels/update.hpp"
#include "tests/runtime/kernels/update_reference.hpp"
#include "tests/runtime/kernels/vector_width.hpp"
#include "tests/support/allocations.hpp"

namespace tidegate::runtime::kernels {
namespace {

using tests::parameters;

constexpr std::size_t length_max = 4097;
constexpr std::size_t lengths[] = {0, 1, 3, 7, 63, 64, 65, 1023, length_max};
constexpr std::size_t alignments[] = {0, 1, 5};  // in elements
constexpr std::size_t slack = 8;

using widths_test = tests::each_width_test;
INSTANTIATE_TEST_SUITE_P(machine, widths_test, tests::machine_widths(), tests::width_name);

TEST(widths, are_chosen_at_run_time) {
  std::set<std::size_t> seen;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    const tests::forced_width forced(target);
    seen.insert(vector_bytes());
  }
  EXPECT_EQ(*seen.rbegin(), vector_bytes()) << "left alone, the widest is used";
#if defined(__x86_64__)
  EXPECT_TRUE(seen.contains(16)) << "every x86-64 that we know has SSSE3";
  EXPECT_EQ(seen.contains(32), static_cast<bool>(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(seen.contains(64), static_cast<bool>(__builtin_cpu_supports("avx512dq")));
#endif
}

float random_float(std::uint64_t seed, std::uint64_t i) {
  const auto bits = mix64(seed * 1'000'003 + i);
  if (bits % 50 == 0) return 0.0F;
  if (bits % 50 == 1) return uniform_signed(seed, i) * 1e-39F;  // subnormal
  return uniform_signed(seed, i) * std::ldexp(1.0F, static_cast<int>(bits % 30) - 15);
}

// Bytes of random finite numbers of a type.
std::vector<std::uint16_t> random_halves(std::uint64_t seed, element type) {
  const std::uint16_t exponent = type == element::float16 ? 0x7c00 : 0x7f80;
  std::vector<std::uint16_t> numbers(length_max + slack);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::uint16_t>(mix64(seed * 7919 + i));
    if ((numbers[i] & exponent) == exponent) numbers[i] = 0x0001;  // the smallest subnormal
    // Squares of the largest bfloat16 overflow; that is tested apart.
    if (type == element::bfloat16)
      numbers[i] = static_cast<std::uint16_t>(numbers[i] & ~0x4000u);
  }
  return numbers;
}

constexpr std::size_t inputs_max = 16;
constexpr element types[] = {element::float32, element::float16, element::bfloat16};

struct gradient_data {
  std::vector<std::vector<float>> floats;
  std::vector<std::vector<std::uint16_t>> halves, brains;

  gradient_data() {
    for (std::size_t k = 0; k < inputs_max; ++k) {
      std::vector<float> values(length_max + slack);
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = random_float(k, i);
      floats.push_back(std::move(values));
      halves.push_back(random_halves(100 + k, element::float16));
      brains.push_back(random_halves(200 + k, element::bfloat16));
    }
  }
  gradient input(std::size_t k, std::uint32_t rank, element type, std::size_t shift) const {
    if (type == element::float32)
      return {.data = floats[k].data() + shift, .rank = rank, .type = type};
    return {.data = (type == element::float16 ? halves : brains)[k].data() + shift,
            .rank = rank,
            .type = type};
  }
};
const gradient_data& data() {
  static const gradient_data data;
  return data;
}

// Ranks that `count` inputs may come from: all, with gaps, groups summed before.
std::vector<std::uint32_t> ranks(std::size_t count, int set) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t rank = 0; numbers.size() < count; ++rank) {
    if (set == 0) numbers.push_back(rank);
    if (set == 1 && mix64(rank + 31 * count) % 3 != 0) numbers.push_back(rank);
    if (set == 2) numbers.push_back(4 * rank);
  }
  return numbers;
}

enum class mix : std::uint8_t { floats, halves, brains, mixed };
element type_of(mix options, std::size_t k) {
  if (options == mix::mixed) return types[mix64(k) % 3];
  return types[static_cast<std::size_t>(options)];
}

struct sweep_case {
  std::size_t count = 1;
  int set = 0;
  mix how = mix::floats;
  std::vector<gradient> inputs(std::size_t shift) const {
    std::vector<gradient> gradients;
    const auto from = ranks(count, set);
    for (std::size_t k = 0; k < count; ++k)
      gradients.push_back(data().input(k, from[k], type_of(how, k), shift));
    return gradients;
  }
};

template <class Visit>
void for_each_case(const Visit& visit) {
  for (const std::size_t count : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16})
    for (const int set : {0, 1, 2})
      for (const mix options : {mix::floats, mix::halves, mix::brains, mix::mixed}) {
        const sweep_case at{.count = count, .set = set, .how = options};
        SCOPED_TRACE(testing::Message() << count << " inputs, ranks " << set << ", types "
                                        << static_cast<int>(options));
        visit(at);
        if (testing::Test::HasFatalFailure()) return;
      }
}

// The element-wise sums, once for all lengths.
std::vector<float> reference_sums(const std::vector<gradient>& inputs) {
  std::vector<float> sums(length_max);
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = tests::reference_sum(inputs, i);
  return sums;
}

bool same(const float* a, const float* b, std::size_t n) {
  return std::memcmp(a, b, n * sizeof(float)) == 0;
}

TEST_P(widths_test, tree_sum_equals_its_definition) {
  for_each_case([](const sweep_case& at) {
    for (const std::size_t shift : alignments) {
      const auto inputs = at.inputs(shift);
      const auto expected = reference_sums(inputs);
      for (const std::size_t n : lengths) {
        std::vector<float> out(length_max + slack, 77.0F);
        tree_sum(inputs, out.data() + shift, n);
        ASSERT_TRUE(same(out.data() + shift, expected.data(), n)) << n << " at " << shift;
        ASSERT_EQ(out[n + shift], 77.0F) << "wrote past the end";
      }
    }
  });
}

// By its definition: element by element, dealt to 32 numbers.
double reference_squares(const std::vector<float>& sums, float scale, std::size_t n) {
  double dealt[32] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const double x = scale * sums[i];
    dealt[i % 256 % 32] += x * x;
  }
  for (std::size_t half = 16; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) dealt[i] += dealt[i + half];
  return dealt[0];
}

TEST_P(widths_test, squares_of_sum_equal_their_definition) {
  for_each_case([](const sweep_case& at) {
    for (const std::size_t shift : alignments) {
      const auto inputs = at.inputs(shift);
      const auto sums = reference_sums(inputs);
      for (const std::size_t n : lengths) {
        const auto got = squares_of_sum(inputs, 0.375F, n);
        const auto expected = reference_squares(sums, 0.375F, n);
        ASSERT_EQ(std::memcmp(&got, &expected, sizeof got) == 0 || std::isnan(expected), true)
            << n << " at " << shift << ": " << got << ", not " << expected;
        ASSERT_EQ(std::isnan(got), std::isnan(expected));
      }
    }
  });
}

parameters start() {
  parameters result;
  for (std::size_t i = 0; i < length_max + slack; ++i) {
    result.w.push_back(uniform_signed(1, i));
    result.s1.push_back(std::abs(uniform_signed(2, i)));
    result.s2.push_back(std::abs(uniform_signed(3, i)));
  }
  return result;
}

optimizer an_optimizer(optimizer_kind kind) {
  optimizer options;
  options.kind = kind;
  options.learning_rate = 0.05F;
  options.epsilon = 1e-6F;
  options.weight_decay = 0.02F;
  options.l1 = 0.3F;
  options.l2 = 0.4F;
  return options;
}

enum class target : std::uint8_t { in_place, other };

void expect_step(const optimizer& options, const std::vector<gradient>& inputs, float scale,
                 const parameters& before, const parameters& expected, std::size_t shift,
                 std::size_t n) {
  for (const auto where : {target::in_place, target::other}) {
    auto got = before;
    std::vector<float> other(length_max + slack, 77.0F);
    float* after = (where == target::in_place ? got.w : other).data() + shift;
    const float next = after[n];
    beta_powers powers;
    apply_update(options, powers, inputs, scale,
                 {.before = got.w.data() + shift,
                  .after = after,
                  .state1 = got.s1.data() + shift,
                  .state2 = got.s2.data() + shift,
                  .n = n});
    const auto answer = testing::Message() << "n " << n << " shift " << shift << " target "
                                           << static_cast<int>(where);
    ASSERT_TRUE(same(after, expected.w.data() + shift, n)) << answer;
    ASSERT_TRUE(same(got.s1.data() + shift, expected.s1.data() + shift, n)) << answer;
    ASSERT_TRUE(same(got.s2.data() + shift, expected.s2.data() + shift, n)) << answer;
    ASSERT_TRUE(same(&after[n], &next, 1)) << "wrote past the end; " << answer;
  }
}

TEST_P(widths_test, every_optimizer_equals_its_formula) {
  const auto before = start();
  for_each_case([&](const sweep_case& at) {
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}}) {
      const auto inputs = at.inputs(shift);
      const auto sums = reference_sums(inputs);
      const float scale = 1.0F / static_cast<float>(at.count);
      for (const auto& traits : runtime::dense_optimizers) {
        auto optimizer = an_optimizer(traits.kind);
        optimizer.clip_value = shift == 0 ? 0.0F : 0.25F;
        auto expected = before;
        for (std::size_t i = 0; i < length_max; ++i)
          tests::reference_step(optimizer, 1, scale, sums[i], expected, i + shift);
        for (const std::size_t n : lengths) {
          expect_step(optimizer, inputs, scale, before, expected, shift, n);
          ASSERT_FALSE(testing::Test::HasFatalFailure()) << "optimizer " << traits.name;
        }
      }
    }
  });
}

TEST_P(widths_test, every_half_is_read_exactly) {
  std::vector<std::uint16_t> all(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const auto type : {element::float16, element::bfloat16}) {
    const std::vector<gradient> inputs{{.data = all.data(), .rank = 0, .type = type}};
    std::vector<float> got(all.size()), expected(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) expected[i] = tests::element_at(inputs[0], i);
    tree_sum(inputs, got.data(), got.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      ASSERT_TRUE(same(&got[i], &expected[i], 1)) << "pattern " << i;
  }
}

TEST_P(widths_test, subnormals_are_not_flushed) {
  const std::vector<float> tiny(100, std::numeric_limits<float>::denorm_min());
  std::vector<float> w(100, 0.0F);
  beta_powers powers;
  optimizer options;
  options.learning_rate = 1.0F;
  apply_update(options, powers, std::vector<gradient>{{tiny.data(), 0}, {tiny.data(), 1}}, 1.0F,
               {.before = w.data(),
                .after = w.data(),
                .state1 = nullptr,
                .state2 = nullptr,
                .n = w.size()});
  for (const float x : w) ASSERT_EQ(x, -2 * std::numeric_limits<float>::denorm_min());
}

TEST_P(widths_test, first_not_finite_finds_it_in_every_type) {
  for (const auto type : types) {
    std::vector<std::uint16_t> bytes(2 * 5000, 0x3c00);
    const std::size_t step = size_of(type) / 2;
    const std::uint16_t upper[] = {0x7f80, 0xfc00, 0xff80};
    const std::uint16_t bad = upper[static_cast<std::size_t>(type)];
    const std::size_t n = 5000;
    for (const std::size_t shift : {0, 1})
      for (const std::size_t at : {0, 1, 15, 1023, 1024, 2047, 2048, 4997, 4998}) {
        const auto* from = bytes.data() + shift * step;
        EXPECT_EQ(first_not_finite(from, type, n - 1), n - 1);
        const std::size_t place = (at + shift) * step + (step - 1);
        bytes[place] = bad;
        EXPECT_EQ(first_not_finite(from, type, n - 1), at);
        EXPECT_EQ(first_not_finite(from, type, at), at) << "looks past the end";
        bytes[place] = 0x3c00;
      }
  }
}

TEST_P(widths_test, the_passes_of_the_roofline_do_what_they_say) {
  std::vector<float> from(length_max), copied(length_max), streamed(length_max);
  float sum = 0;
  for (std::size_t i = 0; i < from.size(); ++i) sum += from[i] = static_cast<float>(i % 64);
  copy_pass(from.data(), copied.data() + 1, length_max - 1);
  stream_pass(from.data(), streamed.data() + 1, length_max - 1);
  EXPECT_EQ(read_pass(from.data(), length_max), sum) << "small integers, so any order";
  EXPECT_TRUE(same(from.data(), copied.data() + 1, length_max - 1));
  EXPECT_TRUE(same(from.data(), streamed.data() + 1, length_max - 1));
}

TEST(kernels, allocate_nothing) {
  const auto before = start();
  auto p = before;
  std::vector<std::vector<gradient>> inputs;
  for_each_case([&](const sweep_case& at) { inputs.push_back(at.inputs(0)); });
  beta_powers powers;
  tree_sum(inputs[0], p.w.data(), length_max);  // the width is found once
  const auto count = tests::allocations();
  for (const auto& each : inputs) {
    tree_sum(each, p.w.data(), length_max);
    for (const auto& traits : runtime::dense_optimizers)
      apply_update(an_optimizer(traits.kind), powers, each, 1.0F,
                   {.before = before.w.data(),
                    .after = p.w.data(),
                    .state1 = p.s1.data(),
                    .state2 = p.s2.data(),
                    .n = length_max});
  }
  EXPECT_EQ(tests::allocations(), count);
}

}  // namespace
}  // namespace tidegate::runtime::kernels
