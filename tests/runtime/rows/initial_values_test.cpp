#include "runtime/rows/initial_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

std::vector<float> row(const initial_values& values, std::uint64_t id, std::size_t dim) {
  std::vector<float> out(dim);
  write_initial(values, id, out);
  return out;
}

initial_values values_of(initial_kind kind, float scale) {
  return {.kind = kind, .scale = scale, .key = initial_key(7, "embedding")};
}

TEST(initial_values, are_those_that_were_computed_elsewhere) {
  const auto uniform = values_of(initial_kind::uniform, 0.05F);
  EXPECT_EQ(
      row(uniform, 0, 5),
      (std::vector<float>{-0.021254772320389748F, 0.04326752573251724F, -0.04940903186798096F,
                          -0.011425161734223366F, -0.044668372720479965F}));
  EXPECT_EQ(row(uniform, ~0ULL, 3),
            (std::vector<float>{-0.017118602991104126F, -0.010878878645598888F,
                                0.04157838970422745F}));
  const auto normal = row(values_of(initial_kind::normal, 2.0F), 42, 6);
  const std::vector<double> expected{-0.30401267750475264, 0.43096939485192254,
                                     2.046620131390366,    -1.5160838889556314,
                                     -1.796537237168424,   3.5710469654789496};
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(normal[i], expected[i], 4e-7 * std::abs(expected[i])) << i;
  EXPECT_EQ(row(values_of(initial_kind::constant, -1.5F), 42, 3),
            (std::vector<float>{-1.5F, -1.5F, -1.5F}));
}

// The bits, so that another compiler or machine that has others is noticed.
TEST(initial_values, have_the_same_bits_everywhere) {
  std::uint64_t digest = 0;
  for (std::uint64_t id = 0; id < 10'000; ++id)
    for (const float value : row(values_of(initial_kind::normal, 0.02F), id, 8))
      digest = mix64(digest ^ std::bit_cast<std::uint32_t>(value));
  EXPECT_EQ(digest, 0x42502e71e0822d8aULL);
}

TEST(initial_values, depend_on_seed_table_id_and_column) {
  auto values = values_of(initial_kind::uniform, 1.0F);
  const auto first = row(values, 1, 4);
  EXPECT_EQ(row(values, 1, 4), first);
  EXPECT_NE(row(values, 2, 4), first);
  EXPECT_NE(first[0], first[1]);
  values.key = initial_key(8, "embedding");
  EXPECT_NE(row(values, 1, 4), first);
  values.key = initial_key(7, "embeddings");
  EXPECT_NE(row(values, 1, 4), first);
}

TEST(initial_values, of_a_narrow_row_are_the_first_of_a_wide_row) {
  for (const auto kind : {initial_kind::uniform, initial_kind::normal}) {
    const auto wide = row(values_of(kind, 1.0F), 3, 33);
    for (std::size_t dim = 0; dim < wide.size(); ++dim)
      EXPECT_EQ(row(values_of(kind, 1.0F), 3, dim),
                std::vector<float>(wide.begin(), wide.begin() + static_cast<long>(dim)));
  }
}

struct moments {
  double mean = 0, variance = 0, fourth = 0;
  float least = std::numeric_limits<float>::max(), most = -least;
  double beyond_two = 0;  // share
};

moments measure(const initial_values& values) {
  constexpr std::size_t dim = 64, rows = 20'000;
  moments found;
  for (std::uint64_t id = 0; id < rows; ++id)
    for (const float x : row(values, id, dim)) {
      found.mean += x;
      found.variance += double{x} * x;
      found.fourth += std::pow(double{x}, 4);
      found.least = std::min(found.least, x);
      found.most = std::max(found.most, x);
      found.beyond_two += std::abs(x) > 2 ? 1 : 0;
    }
  for (double* sum : {&found.mean, &found.variance, &found.fourth, &found.beyond_two})
    *sum /= dim * rows;
  return found;
}

TEST(initial_values, are_distributed_as_they_say) {
  const auto uniform = measure(values_of(initial_kind::uniform, 3.0F));
  EXPECT_NEAR(uniform.mean, 0, 0.01);
  EXPECT_NEAR(uniform.variance, 3, 0.02);
  EXPECT_GE(uniform.least, -3.0F);
  EXPECT_LT(uniform.most, 3.0F);
  EXPECT_GT(uniform.most, 2.99F);
  const auto normal = measure(values_of(initial_kind::normal, 1.0F));
  EXPECT_NEAR(normal.mean, 0, 0.005);
  EXPECT_NEAR(normal.variance, 1, 0.01);
  EXPECT_NEAR(normal.fourth, 3, 0.05);
  EXPECT_NEAR(normal.beyond_two, 0.0455, 0.001);
  EXPECT_GT(normal.most, 4.0F);
  EXPECT_LT(normal.most, 6.4F);
}

TEST(initial_values, have_a_scale_that_is_a_number) {
  EXPECT_TRUE(is_valid({.kind = initial_kind::constant, .scale = -1}));
  EXPECT_TRUE(is_valid({.kind = initial_kind::uniform, .scale = 0}));
  EXPECT_FALSE(is_valid({.kind = initial_kind::normal, .scale = -1}));
  EXPECT_FALSE(is_valid({.kind = initial_kind::uniform, .scale = NAN}));
  EXPECT_FALSE(is_valid({.kind = initial_kind::constant, .scale = INFINITY}));
}

}  // namespace
}  // namespace tidegate::runtime
