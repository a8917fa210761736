// The bodies of the kernels for GPUs, run on this CPU, leave the same bytes as the vector loops
// of runtime/kernels: for every optimizer, type, number of inputs, set of ranks and alignment.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/cuda/dispatch.hpp"
#include "runtime/kernels/cuda/finite_body.hpp"
#include "runtime/kernels/gaps.hpp"
#include "runtime/kernels/reduced.hpp"
#include "runtime/kernels/tree.hpp"
#include "runtime/kernels/update.hpp"
#include "tests/runtime/kernels/cuda/emulation.hpp"
#include "tests/runtime/kernels/cuda/random_step.hpp"

namespace tidegate::runtime::kernels {
namespace {

using tests::call_kind;
using tests::random_step;
using tests::step_memory;

void run_on_cpu(const random_step& step, std::byte* memory) {
  const auto inputs = step.inputs_in(memory);
  const auto arrays = step.arrays_in(memory);
  auto powers = step.powers();
  switch (step.call()) {
    case call_kind::sum:
      return tree_sum(inputs, arrays.after, arrays.n);
    case call_kind::assign:
      return assign_sum(inputs, arrays, {.where = step.where()});
    case call_kind::update:
      return apply_update(step.options(), powers, inputs, step.scale(), arrays);
  }
}

void emulate(const random_step& step, std::byte* memory) {
  const auto constants = step.constants();
  tests::emulate(step.inputs_in(memory),
                 step.call() == call_kind::update ? &constants : nullptr,
                 step.arrays_in(memory), step.where());
}

TEST(cuda_bodies, leave_the_bytes_of_the_vector_loops) {
  std::set<std::size_t> planned, dense;
  std::size_t vectors = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    const random_step step(seed);
    const step_memory expected(step.bytes()), got(step.bytes());
    step.fill(expected.data());
    step.fill(got.data());
    run_on_cpu(step, expected.data());
    emulate(step, got.data());
    ASSERT_EQ(std::memcmp(expected.data(), got.data(), step.bytes()), 0) << step.describe();
    const auto inputs = step.inputs_in(got.data());
    dense_inputs found;
    (find_dense(inputs, found) ? dense : planned).insert(inputs.size());
    vectors +=
        cuda::lay_out(step.arrays_in(got.data()), inputs).is_aligned && step.elements() > 2048;
  }
  EXPECT_EQ(dense.size(), fused_inputs_max);
  EXPECT_EQ(*planned.rbegin(), cuda::plan_inputs_max);
  EXPECT_GT(vectors, 400u) << "tiles of whole vectors were tried";
}

TEST(cuda_bodies, leave_the_bytes_of_the_vector_loops_around_gaps) {
  std::size_t steps = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    random_step step(seed);
    if (!step.choose_gaps()) continue;
    ++steps;
    const step_memory expected(step.bytes()), got(step.bytes());
    step.fill(expected.data());
    step.fill(got.data());
    run_on_cpu(step, expected.data());
    emulate(step, got.data());
    ASSERT_EQ(std::memcmp(expected.data(), got.data(), step.bytes()), 0) << step.describe();
  }
  EXPECT_GT(steps, 1000U);
}

TEST(cuda_bodies, read_every_half_exactly) {
  std::vector<std::uint16_t> all(0x10000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  for (const auto type : {element::float16, element::bfloat16}) {
    const std::vector<gradient> inputs{{.data = all.data(), .rank = 0, .type = type}};
    std::vector<float> expected(all.size()), got(all.size());
    tree_sum(inputs, expected.data(), all.size());
    tests::emulate(inputs, nullptr, {.after = got.data(), .n = got.size()});
    EXPECT_EQ(std::memcmp(expected.data(), got.data(), all.size() * sizeof(float)), 0);
  }
}

TEST(cuda_bodies, keep_a_nan_that_is_clipped) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(reduced(nan, 1.0F, 1.0F)));
  EXPECT_EQ(reduced(3.0F, 0.5F, 1.0F), 1.0F);
  EXPECT_EQ(reduced(-3.0F, 0.5F, 1.0F), -1.0F);
  EXPECT_EQ(reduced(3.0F, 0.5F, 0.0F), 1.5F);
}

// A thread looks at many numbers at once, then at the rest, and the threads stride.
TEST(cuda_bodies, find_the_first_number_that_is_not_finite) {
  constexpr std::size_t stride =
      std::size_t{cuda::find_blocks_max} * cuda::find_threads_per_block;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float kinds[] = {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(),
                         std::numeric_limits<float>::signaling_NaN()};
  constexpr auto at_once = stride * cuda::vector_elements * cuda::find_vectors_at_once;
  const std::size_t sizes[] = {
      0, 1, 2, 255, 257, 3000, at_once - 1, at_once, at_once + stride + 7};
  std::vector<float> memory(at_once + 2 * stride, std::numeric_limits<float>::max());
  for (std::size_t i = 0; i < memory.size(); i += 3)
    memory[i] = -std::numeric_limits<float>::denorm_min();
  std::uint64_t state = 0;
  for (const auto n : sizes) {
    const auto first = state % cuda::vector_elements;  // its vectors begin at any element
    const auto numbers = std::span(memory).subspan(first, n);
    EXPECT_EQ(tests::emulate_find(numbers), UINT64_MAX) << "all of " << n << " are finite";
    for (std::size_t at = n == 0 ? 1 : n - 1; at < n; at = at == 0 ? n : at / 3) {
      const auto kept = std::exchange(numbers[at], kinds[state++ % 4]);
      ASSERT_EQ(first_not_finite(numbers.data(), n), at);
      ASSERT_EQ(tests::emulate_find(numbers), at) << "of " << n << " from " << first << " on";
      numbers[at] = kept;
    }
  }
}

}  // namespace
}  // namespace tidegate::runtime::kernels
