#include "launch/screen/ansi_text.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

namespace tidegate::launch {
namespace {

const styled_line line{{"mlp", text_style::heading},
                       {"  bsp ", text_style::plain},
                       {"##", text_style::computes},
                       {"late", text_style::bad}};

TEST(ansi_text, has_a_sequence_around_each_piece_of_a_style) {
  EXPECT_EQ(ansi_text(line, true),
            "\x1b[1mmlp\x1b[0m  bsp \x1b[32m##\x1b[0m\x1b[1;31mlate\x1b[0m");
  EXPECT_EQ(ansi_text({}, true), "");
}

TEST(ansi_text, needs_no_color) {
  EXPECT_EQ(ansi_text(line, false), "\x1b[1mmlp\x1b[0m  bsp ##\x1b[1mlate\x1b[0m");
}

TEST(ansi_text, no_color_is_the_environments_word) {
  ::unsetenv("NO_COLOR");
  EXPECT_TRUE(wants_color());
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(wants_color());
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(wants_color());
  ::unsetenv("NO_COLOR");
}

}  // namespace
}  // namespace tidegate::launch
