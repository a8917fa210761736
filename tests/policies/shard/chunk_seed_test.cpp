#include "policies/shard/chunk_seed.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace tidegate::policies {
namespace {

chunk_seed some() {
  chunk_seed seed;
  seed.state.now = {7, {{7, false}, {9, true}, {0, false}}};
  seed.state.kept = {6, 5};
  seed.beta1_power = 0.1;
  seed.beta2_power = 1e-300;
  seed.states = 2;
  seed.elements = 3;
  return seed;
}

std::vector<float> encoded(const chunk_seed& seed) {
  std::vector<float> values(seed_bytes(seed) / sizeof(float));
  const auto bytes = std::as_writable_bytes(std::span(values));
  encode_seed(seed, bytes);
  for (std::size_t i = 0; i < seed.arrays(); ++i)
    for (std::size_t j = 0; j < seed.elements; ++j)
      seed_array(seed, bytes, i)[j] = static_cast<float>(10 * i + j);
  return values;
}

TEST(chunk_seed, is_read_as_it_was_written) {
  const auto seed = some();
  const auto values = encoded(seed);
  const auto bytes = std::as_bytes(std::span(values));
  const auto read = decode_seed(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->state.now.version, 7U);
  EXPECT_EQ(read->state.now.ranks, seed.state.now.ranks);
  EXPECT_EQ(read->state.kept, seed.state.kept);
  EXPECT_EQ(read->beta1_power, 0.1);
  EXPECT_EQ(read->beta2_power, 1e-300);
  ASSERT_EQ(read->arrays(), 5U);
  EXPECT_EQ(read->kept_array(1), 4U);
  EXPECT_EQ(seed_array(*read, bytes, 3)[2], 32.0F);
}

TEST(chunk_seed, what_is_cut_or_longer_or_has_another_head_is_refused) {
  auto values = encoded(some());
  const auto bytes = std::as_bytes(std::span(values));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(decode_seed(bytes.first(length))) << length;
  auto longer = values;
  longer.push_back(0);
  EXPECT_FALSE(decode_seed(std::as_bytes(std::span(std::as_const(longer)))));
  auto wild = std::as_writable_bytes(std::span(values));
  wild[4] = std::byte{0xff};  // workers
  EXPECT_FALSE(decode_seed(bytes));
}

}  // namespace
}  // namespace tidegate::policies
