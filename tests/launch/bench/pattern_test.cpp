#include "launch/bench/pattern.hpp"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>

namespace tidegate::bench {
namespace {

using runtime::kernels::apply_update;
using runtime::kernels::beta_powers;
using runtime::kernels::chunk_arrays;
using runtime::kernels::gradient;
using runtime::kernels::optimizer_kind;

constexpr std::size_t size = 2 * pattern_period + 100;

// A parameter server in ten lines.
struct server {
  optimizer_kind kind;
  std::vector<float> w = std::vector<float>(size), m = w, v = w;
  beta_powers powers{};

  void step(std::uint32_t ranks, std::uint64_t clock) {
    std::vector<std::vector<float>> pushed(ranks, std::vector<float>(size));
    std::vector<gradient> inputs(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      gradient_pattern(rank).fill(clock, 0, pushed[rank]);
      inputs[rank].data = pushed[rank].data();
      inputs[rank].rank = rank;
    }
    apply_update(measured_optimizer(kind), powers, inputs, 1.0F,
                 chunk_arrays{.before = w.data(),
                              .after = w.data(),
                              .state1 = m.data(),
                              .state2 = v.data(),
                              .n = size});
  }
};

TEST(pattern, fill_writes_what_gradient_at_says) {
  std::vector<float> out(size);
  gradient_pattern(3).fill(5, 0, out);
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(out[i], gradient_at(3, 5, i));
}

TEST(pattern, tells_ranks_parities_and_places_apart) {
  std::size_t same_rank = 0, same_clock = 0, same_place = 0;
  for (std::size_t i = 0; i < pattern_period; ++i) {
    same_rank += gradient_at(0, 0, i) == gradient_at(1, 0, i);
    same_clock += gradient_at(0, 0, i) == gradient_at(0, 1, i);
    same_place += gradient_at(0, 0, i) == gradient_at(0, 0, i + 65536);
  }
  EXPECT_LT(same_rank, pattern_period / 4);
  EXPECT_LT(same_clock, pattern_period / 4);
  EXPECT_LT(same_place, pattern_period / 4);
}

TEST(reference, agrees_with_the_kernels_for_every_optimizer) {
  for (const auto kind :
       {optimizer_kind::sgd, optimizer_kind::momentum, optimizer_kind::adam}) {
    server shard{kind};
    reference truth(kind, 3);
    for (std::uint64_t clock = 0; clock < 50; ++clock) {
      shard.step(3, clock);
      truth.step();
      ASSERT_FALSE(truth.check(0, shard.w)) << "clock " << clock;
    }
  }
}

TEST(reference, finds_one_wrong_element) {
  for (const auto kind :
       {optimizer_kind::sgd, optimizer_kind::momentum, optimizer_kind::adam}) {
    server shard{kind};
    reference truth(kind, 2);
    shard.step(2, 0);
    truth.step();
    for (const std::size_t at : {std::size_t{0}, pattern_period, size - 1}) {
      auto wrong = shard.w;
      wrong[at] *= 1.001F;
      const auto found = truth.check(0, wrong);
      ASSERT_TRUE(found);
      EXPECT_EQ(found->element, at);
      EXPECT_EQ(found->found, wrong[at]);
      wrong[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(truth.check(0, wrong));
    }
  }
}

TEST(reference, finds_a_lost_gradient_a_stale_result_and_swapped_chunks) {
  server shard{optimizer_kind::sgd};
  reference truth(optimizer_kind::sgd, 2);
  shard.step(1, 0);  // rank 1 is missing
  truth.step();
  EXPECT_TRUE(truth.check(0, shard.w));

  server stale{optimizer_kind::sgd};
  stale.step(2, 0);
  EXPECT_FALSE(truth.check(0, stale.w));
  auto swapped = stale.w;
  std::swap_ranges(swapped.begin(), swapped.begin() + 1024, swapped.begin() + 1024);
  EXPECT_TRUE(truth.check(0, swapped));
  truth.step();
  EXPECT_TRUE(truth.check(0, stale.w));
}

TEST(reference, is_exact_as_far_as_it_says) {
  // The largest value: every gradient 16, rate 1/1024; one step more must still be seen.
  const auto largest = static_cast<float>(exact_steps_max) * 16.0F / 1024.0F;
  EXPECT_NE(largest, largest - 1.0F / 1024.0F);
}

}  // namespace
}  // namespace tidegate::bench
