#include "launch/text/wrapped.hpp"

#include <gmock/gmock.h>

namespace tidegate::launch {
namespace {

TEST(wrapped, fills_lines_to_the_width) {
  EXPECT_EQ(wrapped("aa bb cc", "> ", 7), "> aa bb\n  cc\n");
  EXPECT_EQ(wrapped("aa bb cc", "> ", 10), "> aa bb cc\n");
}

TEST(wrapped, leaves_a_long_word_whole) {
  EXPECT_EQ(wrapped("a bbbbbbbb c", "", 4), "a\nbbbbbbbb\nc\n");
}

TEST(wrapped, takes_no_text_and_many_blanks) {
  EXPECT_EQ(wrapped("", "> "), "> \n");
  EXPECT_EQ(wrapped("  a   b  ", "", 80), "a b\n");
}

}  // namespace
}  // namespace tidegate::launch
