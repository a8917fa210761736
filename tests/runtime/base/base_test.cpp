// rng, sha256, status, assert.
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/base/sha256.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::runtime {
namespace {

std::span<const std::byte> bytes(const char* text) {
  return std::as_bytes(std::span(text, std::strlen(text)));
}

// No load and no branch: the compiler drops what it guards.
static_assert(!TIDEGATE_BUGGIFY("a build without forced branches"));

TEST(sha256, known_answers) {
  // FIPS 180-4's examples.
  EXPECT_EQ(sha256().finish(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  sha256 parts;
  parts.update(bytes("a"));
  parts.update(bytes("bc"));
  EXPECT_EQ(parts.finish(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(rng, mix64_follows_splitmix64) {
  // First output of SplitMix64 seeded with 0, from the authors' reference code.
  EXPECT_EQ(mix64(0), 0xe220a8397b1dcdafULL);
}

TEST(rng, uniform_signed_covers_its_range_evenly) {
  const auto key = stream_key(1, "w");
  double sum = 0;
  float low = 1, high = -1;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const float x = uniform_signed(key, i);
    ASSERT_GE(x, -1.0F);
    ASSERT_LT(x, 1.0F);
    sum += x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  EXPECT_NEAR(sum / 100'000, 0.0, 0.01);
  EXPECT_LT(low, -0.999F);
  EXPECT_GT(high, 0.999F);
}

TEST(rng, streams_of_other_names_and_seeds_differ) {
  std::set<std::uint64_t> keys;
  for (std::uint64_t seed : {1, 2, 3})
    for (const char* name : {"", "a", "b", "ab", "ba"}) keys.insert(stream_key(seed, name));
  EXPECT_EQ(keys.size(), 15u);
}

TEST(status, carries_code_and_message) {
  const status good;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(good.to_string(), "ok");
  const status bad(errc::timed_out, "no answer");
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.to_string(), "timed_out: no answer");
  const expected<int> none = fail(errc::not_found, "x");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), errc::not_found);
}

TEST(assert_death, stays_on_in_release) {
  EXPECT_DEATH(TIDEGATE_ASSERT(1 + 1 == 3, "arithmetic"), "arithmetic");
}

}  // namespace
}  // namespace tidegate::runtime
