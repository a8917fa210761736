// A plan, followed entry by entry, adds as the canonical tree does, and never has more partial
// sums than it has places for.

#include "runtime/kernels/cuda/sum_plan.hpp"

#include <bit>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/rng.hpp"
#include "runtime/kernels/update.hpp"

namespace tidegate::runtime::kernels::cuda {
namespace {

struct followed {
  float sum = 0;
  std::size_t depth = 0;  // the most partial sums at a time
};

followed follow(const sum_plan& plan) {
  std::vector<float> stack;
  followed result;
  for (std::uint32_t k = 0; k < plan.count; ++k) {
    const auto& entry = plan.entries[k];
    const float x = *static_cast<const float*>(entry.data);
    if (entry.is_pushed)
      stack.push_back(x);
    else
      stack.back() += x;
    result.depth = std::max(result.depth, stack.size());
    for (unsigned merges = entry.merges; merges > 0; --merges) {
      const float upper = stack.back();
      stack.pop_back();
      stack.back() += upper;
    }
  }
  EXPECT_EQ(stack.size(), 1u);
  result.sum = stack.back();
  return result;
}

// Elements whose sums differ with the order.
std::vector<float> random_elements(std::size_t n) {
  std::vector<float> elements(n);
  for (std::size_t i = 0; i < n; ++i) elements[i] = uniform_signed(7, i);
  return elements;
}

void expect_tree(const std::vector<gradient>& inputs) {
  float expected = 0;
  tree_sum(inputs, &expected, 1);
  const auto plan = make_plan(inputs);
  const auto got = follow(plan);
  ASSERT_EQ(std::bit_cast<std::uint32_t>(got.sum), std::bit_cast<std::uint32_t>(expected));
  ASSERT_LE(got.depth, plan_depth_max);
  std::set<const void*> used;
  for (std::uint32_t k = 0; k < plan.count; ++k) used.insert(plan.entries[k].data);
  ASSERT_EQ(used.size(), inputs.size());
  ASSERT_EQ(plan.count, inputs.size());
}

TEST(sum_plan, adds_as_the_tree_for_every_set_of_twelve_ranks) {
  const auto elements = random_elements(12);
  for (unsigned set = 1; set < 1U << 12; ++set) {
    std::vector<gradient> inputs;
    for (std::uint32_t rank = 0; rank < 12; ++rank)
      if ((set >> rank & 1) != 0) inputs.push_back({&elements[rank], rank});
    expect_tree(inputs);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "ranks " << set;
  }
}

TEST(sum_plan, adds_as_the_tree_for_random_ranks) {
  const auto elements = random_elements(plan_inputs_max);
  rng random(11);
  for (int turn = 0; turn < 20'000; ++turn) {
    std::set<std::uint32_t> ranks;
    const auto count = 1 + random.below(plan_inputs_max);
    // From ranks that are nearly all there to ranks far apart from each other.
    const auto span = count << random.below(33 - std::bit_width(count));
    while (ranks.size() < count) ranks.insert(static_cast<std::uint32_t>(random.below(span)));
    std::vector<gradient> inputs;
    for (const auto rank : ranks) inputs.push_back({&elements[inputs.size()], rank});
    expect_tree(inputs);
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << "turn " << turn;
  }
}

TEST(sum_plan, a_full_tree_needs_all_places) {
  const auto elements = random_elements(plan_inputs_max);
  std::vector<gradient> inputs;
  for (std::uint32_t rank = 0; rank < plan_inputs_max; ++rank)
    inputs.push_back({&elements[rank], rank});
  EXPECT_EQ(follow(make_plan(inputs)).depth, plan_depth_max);
}

TEST(sum_plan, a_chain_of_ranks_needs_one_place) {
  const auto elements = random_elements(33);
  std::vector<gradient> inputs{{elements.data(), 0}};
  for (std::uint32_t bit = 31; bit > 0; --bit) {
    const auto before = inputs.back().rank;
    inputs.push_back({&elements[bit], before | 1U << bit});
  }
  EXPECT_EQ(follow(make_plan(inputs)).depth, 1u) << "the deeper side comes first";
}

TEST(sum_plan, keeps_types_and_ranks_may_be_the_largest) {
  const auto elements = random_elements(2);
  const std::vector<gradient> inputs{
      {.data = &elements[0], .rank = 1, .type = element::float16},
      {.data = &elements[1], .rank = 0xffff'ffff, .type = element::bfloat16}};
  const auto plan = make_plan(inputs);
  EXPECT_EQ(plan.entries[0].type, element::float16);
  EXPECT_EQ(plan.entries[1].type, element::bfloat16);
}

}  // namespace
}  // namespace tidegate::runtime::kernels::cuda
