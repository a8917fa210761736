#include "launch/manual/help_page.hpp"

#include <gmock/gmock.h>

#include "launch/manual/usage_line.hpp"

namespace tidegate::launch {
namespace {

using kind = help_part::kind;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* text = R"(tidegate logs RUN_DIR [PROCESS] [-f]
    [--lines N]
tidegate logs --all FOLDER

Shows the last lines.
Of all processes.

  -f, --follow       goes on
                     until the end
  -n, --lines N      so many
  --map FILE  and more

Paths:
  kernel   one launch
  {"not": "a list"}

An example:
  a: {b: c}

Exit codes: 0 done.
)";

TEST(help_page, has_its_parts_in_order) {
  const auto parts = parts_of(text);
  std::vector<kind> kinds;
  for (const auto& part : parts) kinds.push_back(part.type);
  EXPECT_THAT(kinds,
              ElementsAre(kind::usage, kind::paragraph, kind::items, kind::paragraph,
                          kind::verbatim, kind::paragraph, kind::verbatim, kind::paragraph));
  EXPECT_THAT(parts[0].lines, ElementsAre("tidegate logs RUN_DIR [PROCESS] [-f] [--lines N]",
                                          "tidegate logs --all FOLDER"));
  EXPECT_EQ(parts[2].items[0].term, "-f, --follow");
  EXPECT_THAT(parts[2].items[0].lines, ElementsAre("goes on", "until the end"));
}

TEST(help_page, has_items_below_their_terms) {
  const auto parts =
      parts_of("tidegate - a server\n\n  tidegate ls [FOLDER]\n      list runs\n");
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].type, kind::title);
  EXPECT_EQ(parts[1].items.at(0).term, "tidegate ls [FOLDER]");
  EXPECT_THAT(parts[1].items.at(0).lines, ElementsAre("list runs"));
}

TEST(help_page, knows_options) {
  const auto parts = parts_of(text);
  EXPECT_EQ(about_option(parts, "follow"), "goes on until the end");
  EXPECT_EQ(value_word(parts, "lines"), "N");
  EXPECT_EQ(value_word(parts, "map"), "FILE");
  EXPECT_EQ(value_word(parts, "follow"), "");
  EXPECT_EQ(about_option(parts, "fol"), "");
  EXPECT_THAT(options_in({.term = "-n, --lines N", .lines = {}}), ElementsAre("lines"));
  EXPECT_THAT(options_in({.term = "kernel", .lines = {}}), IsEmpty());
}

TEST(usage_line, has_the_words_that_are_no_options) {
  const command_page page{
      .name = "chaos",
      .help = {},
      .options = {{.name = "signal"}, {.name = "all", .letter = 'a', .has_value = false}}};
  EXPECT_THAT(
      positional_words("tidegate chaos RUN_DIR kill|stop PROCESS [--signal NAME]", page),
      ElementsAre("RUN_DIR", "kill|stop", "PROCESS"));
  EXPECT_THAT(positional_words("tidegate chaos --all FILE [--signal=NAME]... [JOB]", page),
              ElementsAre("FILE", "JOB"));
  EXPECT_THAT(positional_words("tidegate chaos -a FILE [--signal A | --all] > x.yaml", page),
              ElementsAre("FILE"));
}

}  // namespace
}  // namespace tidegate::launch
