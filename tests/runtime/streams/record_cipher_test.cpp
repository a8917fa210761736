#include "runtime/streams/record_cipher.hpp"

#include <cstring>
#include <string_view>
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

TEST_F(cipher, skips_what_nobody_reads) {
  static_cast<void>(seal("nobody"));
  opener.skip();
  EXPECT_EQ(open(seal("somebody")), "somebody");
}

}  // namespace
}  // namespace tidegate::runtime
