// Keyed digests against the test cases of RFC 4231, comparison, and random numbers.
#include "runtime/base/secret.hpp"

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string hex(const digest& of) {
  std::string text;
  for (const auto byte : of) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte >> 4)];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte & std::byte{15})];
  }
  return text;
}

TEST(secret, digests_as_rfc_4231_says) {
  EXPECT_EQ(hex(hmac_sha256(bytes_of(std::string(20, '\x0b')), bytes_of("Hi There"))),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hex(hmac_sha256(bytes_of("Jefe"), bytes_of("what do ya want for nothing?"))),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(
      hex(hmac_sha256(bytes_of(std::string(131, '\xaa')),
                      bytes_of("Test Using Larger Than Block-Size Key - Hash Key First"))),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(secret, is_the_same_or_not) {
  EXPECT_TRUE(is_same_secret(bytes_of("abc"), bytes_of("abc")));
  EXPECT_FALSE(is_same_secret(bytes_of("abc"), bytes_of("abd")));
  EXPECT_FALSE(is_same_secret(bytes_of("abc"), bytes_of("ab")));
  EXPECT_TRUE(is_same_secret({}, {}));
}

TEST(secret, is_drawn_anew_each_time) {
  std::set<std::vector<std::byte>> drawn;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::byte> secret(32);
    ASSERT_TRUE(draw_secret(secret).ok());
    drawn.insert(secret);
  }
  EXPECT_EQ(drawn.size(), 100U);
}

}  // namespace
}  // namespace tidegate::runtime
