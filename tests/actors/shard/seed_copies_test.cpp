#include "actors/shard/seed_copies.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::actors {
namespace {

std::shared_ptr<const std::vector<float>> chunk(std::vector<float> values) {
  return std::make_shared<const std::vector<float>>(std::move(values));
}

bool holds(const seed_copies::outgoing& copy, const std::vector<float>& values) {
  return std::ranges::equal(copy.values, values);
}

TEST(seed_copies_test, sends_a_chunk_again_as_it_was) {
  seed_copies copies;
  EXPECT_FALSE(copies.has(3));
  copies.keep(3, chunk({1, 2}));
  const auto first = copies.send(3);
  const auto again = copies.send(3);
  EXPECT_NE(first.name, again.name);
  EXPECT_TRUE(holds(again, {1, 2}));
  EXPECT_TRUE(copies.has(3));
}

TEST(seed_copies_test, knows_the_names_of_seeds) {
  seed_copies copies;
  copies.keep(0, chunk({1}));
  EXPECT_TRUE(copies.sent(copies.send(0).name));
  EXPECT_FALSE(copies.sent(0)) << "a frame that nobody asked about";
  EXPECT_FALSE(copies.sent(17)) << "a reply to a worker";
}

TEST(seed_copies_test, leaves_a_copy_to_the_link_until_it_is_sent) {
  seed_copies copies;
  copies.keep(1, chunk({4, 5}));
  const auto former = copies.send(1);
  copies.keep(1, chunk({6, 7}));
  const auto latest = copies.send(1);
  copies.forget(1);
  EXPECT_FALSE(copies.has(1));
  EXPECT_TRUE(holds(former, {4, 5}));
  EXPECT_TRUE(copies.sent(former.name));
  copies.keep(2, chunk({8}));
  copies.forget_all();
  EXPECT_FALSE(copies.has(2));
  EXPECT_TRUE(holds(latest, {6, 7}));
}

}  // namespace
}  // namespace tidegate::actors
