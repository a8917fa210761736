// Branches that a simulation forces, in a build that has them.
#define TIDEGATE_FORCED_BRANCHES
#include "runtime/base/buggify.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

bool one() {
  return TIDEGATE_BUGGIFY("test: one");
}

bool other() {
  return TIDEGATE_BUGGIFY("test: other");
}

// What 64 calls of each give, as letters.
std::string calls() {
  std::string all;
  for (int i = 0; i < 64; ++i) {
    all += one() ? 'o' : '.';
    all += other() ? 'x' : '.';
  }
  return all;
}

TEST(buggify, is_false_unless_it_is_drawn) {
  EXPECT_EQ(forced_marks().size(), 2U);
  EXPECT_EQ(calls(), std::string(128, '.'));
  draw_forced(3);
  clear_forced();
  EXPECT_EQ(calls(), std::string(128, '.'));
}

TEST(buggify, a_seed_forces_the_same_and_seeds_differ) {
  bool alone = false;
  std::vector<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    draw_forced(seed);
    const auto first = calls();
    draw_forced(seed);
    EXPECT_EQ(calls(), first) << seed;
    const bool has_one = first.find('o') != std::string::npos;
    const bool has_other = first.find('x') != std::string::npos;
    alone = alone || has_one != has_other;
    if (has_one) seen.push_back(first);
  }
  clear_forced();
  EXPECT_TRUE(alone) << "each mark is drawn by itself";
  ASSERT_GE(seen.size(), 2U);
  EXPECT_NE(seen.front(), seen.back());
  for (const auto& mark : forced_marks()) EXPECT_TRUE(mark.taken) << mark.name;
}

}  // namespace
}  // namespace tidegate::runtime
