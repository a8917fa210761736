#include "launch/text/printable.hpp"

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

TEST(printable, leaves_text_alone) {
  for (const auto* text : {"", "plain text", "\xC3\xBC \xE2\x82\xAC \xF0\x9F\x8C\x8A"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(valid_utf8(text), text);
  }
}

TEST(printable, has_no_control_characters) {
  EXPECT_EQ(printable("a\x1b[2J\r\n\t\x7f"), "a [2J    ");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            " 31m")
      << "C1: a control sequence in one character";
  EXPECT_EQ(valid_utf8("a\nb"), "a\nb");
}

TEST(printable, is_shortened_between_letters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abc...");
  EXPECT_EQ(shortened("ab\xE2\x82\xAC\xE2\x82\xAC", 6), "ab...");
  EXPECT_EQ(shortened("a\nb", 9), "a b");
}

TEST(printable, is_utf8) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a" + bad + "b");
  EXPECT_EQ(valid_utf8("\xC0\xAF"), bad + bad) << "longer than needed";
  EXPECT_EQ(valid_utf8("\xED\xA0\x80"), bad + bad + bad) << "a surrogate";
  EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(valid_utf8("\xE2\x82"), bad + bad) << "cut off";
}

}  // namespace
}  // namespace tidegate::launch
