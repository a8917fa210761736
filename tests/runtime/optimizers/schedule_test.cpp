#include "runtime/optimizers/schedule.hpp"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/optimizers/registry.hpp"

namespace tidegate::runtime {
namespace {

std::vector<double> shares(const rate_schedule& schedule, std::uint64_t clocks) {
  std::vector<double> all;
  for (std::uint64_t clock = 0; clock < clocks; ++clock)
    all.push_back(share_at(schedule, clock));
  return all;
}

TEST(schedule, without_options_is_the_rate_itself) {
  EXPECT_EQ(shares({}, 3), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(share_at({}, ~std::uint64_t{0}), 1.0);
}

TEST(schedule, warm_up_rises_to_the_rate_and_delays_what_comes_after) {
  EXPECT_EQ(shares({.warmup = 4}, 6), (std::vector<double>{0.25, 0.5, 0.75, 1, 1, 1}));
  EXPECT_EQ(shares({.kind = schedule_kind::step, .warmup = 2, .clocks = 1, .factor = 0.5F}, 5),
            (std::vector<double>{0.5, 1, 1, 0.5, 0.25}));
}

TEST(schedule, steps_multiply_every_so_many_clocks) {
  EXPECT_EQ(shares({.kind = schedule_kind::step, .clocks = 2, .factor = 0.25F}, 6),
            (std::vector<double>{1, 1, 0.25, 0.25, 0.0625, 0.0625}));
  const rate_schedule slow{.kind = schedule_kind::step, .clocks = 1, .factor = 0.9F};
  for (const std::uint64_t clock : {7u, 100u, 1000u})
    EXPECT_NEAR(share_at(slow, clock) / std::pow(double{0.9F}, clock), 1.0, 1e-12) << clock;
  EXPECT_EQ(share_at(slow, ~std::uint64_t{0}), 0.0);
}

TEST(schedule, cosine_falls_from_the_rate_to_its_factor_and_stays_there) {
  constexpr std::uint32_t clocks = 1000;
  constexpr double pi = 3.14159265358979323846;
  for (const float factor : {0.0F, 0.125F}) {
    const rate_schedule schedule{
        .kind = schedule_kind::cosine, .clocks = clocks, .factor = factor};
    EXPECT_EQ(share_at(schedule, 0), 1.0);
    for (std::uint32_t clock = 0; clock < clocks; ++clock) {
      const double expected = factor + (1.0 - factor) * (1 + std::cos(pi * clock / clocks)) / 2;
      ASSERT_NEAR(share_at(schedule, clock), expected, 1e-15) << clock;
      ASSERT_GT(share_at(schedule, clock), share_at(schedule, clock + 1)) << clock;
    }
    EXPECT_EQ(share_at(schedule, clocks), factor);
    EXPECT_EQ(share_at(schedule, ~std::uint64_t{0}), factor);
  }
}

// Whoever makes the step again on another machine must make the same bits: none of the C
// library's functions takes part.
TEST(schedule, has_the_same_bits_everywhere) {
  const rate_schedule schedule{.kind = schedule_kind::cosine, .clocks = 7, .factor = 0.0F};
  EXPECT_EQ(std::bit_cast<std::uint64_t>(share_at(schedule, 1)), 4606736422230404665u);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(share_at(schedule, 3)), 4603680964367894705u);
}

TEST(schedule, a_step_has_the_rate_of_its_clock_and_the_other_options) {
  optimizer_options options;
  options.learning_rate = 0.8F;
  options.momentum = 0.7F;
  options.clip_value = 2.0F;
  options.schedule = {.kind = schedule_kind::step, .clocks = 3, .factor = 0.5F};
  for (const auto& [clock, rate] : {std::pair{2u, 0.8F}, {3u, 0.4F}, {6u, 0.2F}}) {
    auto expected = options;
    expected.learning_rate = rate;
    EXPECT_EQ(options_at(options, clock), expected) << clock;
  }
}

// A lazy optimizer has powers that follow from the clock alone.
TEST(schedule, powers_before_a_step_are_those_of_its_clock) {
  optimizer_options options;
  options.beta1 = 0.5F;
  options.beta2 = 0.25F;
  const beta_powers made{.beta1 = 0.125, .beta2 = 0.75};
  EXPECT_EQ(powers_before(options, made, 7).beta1, 0.125);
  options.lazy = true;
  EXPECT_EQ(powers_before(options, made, 0).beta1, 1.0);
  EXPECT_EQ(powers_before(options, made, 3).beta1, 0.125);
  EXPECT_EQ(powers_before(options, made, 3).beta2, 0.015625);
  EXPECT_EQ(powers_before(options, made, 1'000'000).beta1, 0.0);
}

TEST(schedule, has_the_same_powers_everywhere) {
  optimizer_options options;
  options.beta2 = 0.999F;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(powers_after(options, 1000).beta2),
            4600295517194707569U);
}

TEST(schedule, a_factor_of_workers_multiplies_it_where_a_rate_means_anything) {
  for (const auto& traits : optimizers_known) {
    auto options = traits.defaults;
    options.learning_rate = 0.5F;
    const bool steps = contains(traits.options, optimizer_option::schedule);
    EXPECT_EQ(options_at(options, 3, 0.5F).learning_rate, steps ? 0.25F : 0.5F) << traits.name;
  }
}

// Journals and checkpoints of earlier versions have these.
TEST(schedule, numbers_and_names_stay_what_they_were) {
  const std::pair<std::string_view, std::uint64_t> known[] = {
      {"constant", 0}, {"step", 1}, {"cosine", 2}};
  for (const auto& [name, number] : known) {
    ASSERT_TRUE(find_schedule(name)) << name;
    EXPECT_EQ(find_schedule(name), find_schedule(number)) << name;
    EXPECT_EQ(schedule_name(*find_schedule(name)), name);
  }
  EXPECT_FALSE(find_schedule("cosin"));
  EXPECT_FALSE(find_schedule(std::uint64_t{3}));
  EXPECT_FALSE(find_schedule(~std::uint64_t{0}));
}

TEST(schedule, of_clocks_has_some) {
  EXPECT_TRUE(is_complete({}));
  EXPECT_TRUE(is_complete({.kind = schedule_kind::step, .clocks = 1}));
  EXPECT_FALSE(is_complete({.kind = schedule_kind::step}));
  EXPECT_FALSE(is_complete({.kind = schedule_kind::cosine}));
}

}  // namespace
}  // namespace tidegate::runtime
