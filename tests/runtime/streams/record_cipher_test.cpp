#include "runtime/streams/record_cipher.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tidegate::runtime {
namespace {

digest some_key(int first) {
  digest key{};
  key[0] = static_cast<std::byte>(first);
  return key;
}

struct record {
  std::vector<std::byte> sealed;
  record_tag tag;
};

class cipher : public testing::Test {
 protected:
  record seal(std::string_view text) {
    record result{std::vector<std::byte>(text.size()), {}};
    result.tag = sealer.seal(std::as_bytes(std::span(text)), result.sealed.data());
    return result;
  }
  // Returns the text; "no" if it is not what was sealed.
  std::string open(record sealed) {
    if (!opener.open(sealed.sealed, sealed.tag)) return "no";
    return {reinterpret_cast<const char*>(sealed.sealed.data()), sealed.sealed.size()};
  }

  record_cipher sealer = record_cipher::to_seal(some_key(1));
  record_cipher opener = record_cipher::to_open(some_key(1));
};

TEST_F(cipher, opens_what_was_sealed_in_order) {
  const auto first = seal("first"), second = seal("second"), empty = seal("");
  EXPECT_EQ(open(first), "first");
  EXPECT_EQ(open(second), "second");
  EXPECT_EQ(open(empty), "");
  EXPECT_NE(std::memcmp(seal("first").sealed.data(), first.sealed.data(), 5), 0)
      << "the same words look different each time";
}

TEST_F(cipher, refuses_what_was_changed_repeated_left_out_or_of_another_key) {
  auto changed = seal("changed");
  changed.sealed[2] ^= std::byte{1};
  EXPECT_EQ(open(changed), "no");
  auto other_tag = seal("tag");
  other_tag.tag[15] ^= std::byte{1};
  EXPECT_EQ(open(other_tag), "no");
  const auto said = seal("said");
  EXPECT_EQ(open(said), "said");
  EXPECT_EQ(open(said), "no") << "again";
  static_cast<void>(seal("what the second opening stood for"));
  static_cast<void>(seal("left out"));
  EXPECT_EQ(open(seal("after it")), "no");
  sealer = record_cipher::to_seal(some_key(2));
  opener = record_cipher::to_open(some_key(1));
  EXPECT_EQ(open(seal("key")), "no");
}

// Two processes of a run may have different processors.
TEST(gcm_cipher, of_all_libraries_make_the_same_bytes) {
  const auto key = some_key(7);
  const auto vector = make_vector_gcm(key);
  if (!vector) GTEST_SKIP() << "this processor or build has OpenSSL alone";
  const auto seals = make_openssl_gcm(key, gcm_direction::seals);
  const auto opens = make_openssl_gcm(key, gcm_direction::opens);
  std::mt19937_64 draws(1);
  for (std::size_t round = 0; round < 400; ++round) {
    const std::size_t bytes = round < 300 ? round : draws() % 300'000;
    std::vector<std::byte> plain(bytes);
    for (auto& each : plain) each = static_cast<std::byte>(draws());
    gcm_nonce nonce{};
    nonce[4] = static_cast<std::byte>(round);
    nonce[5] = static_cast<std::byte>(round >> 8U);
    std::vector<std::byte> sealed(bytes);
    auto expected = sealed;
    const auto tag = vector->seal(nonce, plain, sealed.data());
    EXPECT_EQ(tag, seals->seal(nonce, plain, expected.data()));
    ASSERT_EQ(sealed, expected) << bytes;
    ASSERT_TRUE(opens->open(nonce, expected, tag));
    EXPECT_EQ(expected, plain);
    ASSERT_TRUE(vector->open(nonce, sealed, tag));
    EXPECT_EQ(sealed, plain);
    auto wrong = tag;
    wrong[round % gcm_tag_bytes] ^= std::byte{0x10};
    EXPECT_FALSE(vector->open(nonce, sealed, wrong)) << "and it is not sealed any more";
  }
}

// From McGrew and Viega, The Galois/Counter Mode of Operation, appendix B, test case 14.
TEST(gcm_cipher, makes_the_bytes_of_its_authors) {
  const std::array<std::uint8_t, 16> sealed_bytes{0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60,
                                                  0x6b, 0x6e, 0x07, 0x4e, 0xc5, 0xd3,
                                                  0xba, 0xf3, 0x9d, 0x18};
  const std::array<std::uint8_t, 16> tag_bytes{0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99, 0x6b, 0xf0,
                                               0x26, 0x5b, 0x98, 0xb5, 0xd4, 0x8a, 0xb9, 0x19};
  const digest key{};
  std::vector<std::unique_ptr<gcm_cipher>> all;
  all.push_back(make_openssl_gcm(key, gcm_direction::seals));
  if (auto vector = make_vector_gcm(key)) all.push_back(std::move(vector));
  for (const auto& each : all) {
    const std::array<std::byte, 16> plain{};
    std::array<std::byte, 16> sealed{};
    const auto tag = each->seal({}, plain, sealed.data());
    EXPECT_EQ(std::memcmp(sealed.data(), sealed_bytes.data(), sealed.size()), 0);
    EXPECT_EQ(std::memcmp(tag.data(), tag_bytes.data(), tag.size()), 0);
  }
}

TEST_F(cipher, skips_what_nobody_reads) {
  static_cast<void>(seal("nobody"));
  opener.skip();
  EXPECT_EQ(open(seal("somebody")), "somebody");
}

}  // namespace
}  // namespace tidegate::runtime
