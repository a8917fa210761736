#include "launch/text/nearest.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

const std::vector<std::string> words{"workers", "command", "learning_rate", "seed"};

TEST(nearest, finds_one_mistake) {
  EXPECT_EQ(nearest("worker", words), "workers");
  EXPECT_EQ(nearest("wrokers", words), "workers");
  EXPECT_EQ(nearest("comand", words), "command");
  EXPECT_EQ(nearest("see", words), "seed");
}

TEST(nearest, takes_a_beginning) {
  EXPECT_EQ(nearest("learning", words), "learning_rate");
}

TEST(nearest, says_nothing_when_nothing_is_near) {
  EXPECT_EQ(nearest("zzz", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(nearest(std::string(10'000, 'w'), words), "");
  EXPECT_EQ(nearest("seed", {}), "");
}

TEST(join, puts_the_separator_between) {
  EXPECT_EQ(join(words, "|"), "workers|command|learning_rate|seed");
  EXPECT_EQ(join({}), "");
}

}  // namespace
}  // namespace tidegate::launch
