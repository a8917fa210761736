// No option is forgotten: what parses a command line and what --help says are the same.
#include "launch/cli/pages.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "launch/manual/complete.hpp"
#include "launch/manual/help_page.hpp"

namespace tidegate::launch {
namespace {

using testing::ContainerEq;
using testing::Not;
using testing::StartsWith;

TEST(pages, say_of_each_option_what_it_is) {
  for (const auto& page : all_pages()) {
    const auto parts = parts_of(page.help);
    for (const auto& option : page.options) {
      if (option.name == "help") continue;
      EXPECT_NE(about_option(parts, option.name), "")
          << page.name << " --" << option.name << " is in no help";
      EXPECT_EQ(value_word(parts, option.name).empty(), !option.has_value)
          << page.name << " --" << option.name << " takes a value, or does not";
      EXPECT_EQ(value_word(parts, option.name).find(' '), std::string::npos)
          << page.name << " --" << option.name
          << ": two blanks stand before what is said of it";
    }
  }
}

TEST(pages, say_nothing_of_options_that_are_not_there) {
  for (const auto& page : all_pages()) {
    if (page.name == "relay" || page.name == "door" || page.name.empty()) continue;
    std::set<std::string> known;
    for (const auto& option : page.options) known.insert(option.name);
    for (const auto& part : parts_of(page.help))
      for (const auto& item : part.items)
        for (const auto& name : options_in(item))
          EXPECT_TRUE(known.contains(name)) << page.name << " --" << name;
  }
}

TEST(pages, begin_with_how_a_command_is_called) {
  for (const auto& page : all_pages()) {
    const auto parts = parts_of(page.help);
    ASSERT_FALSE(parts.empty()) << page.name;
    using kind = help_part::kind;
    EXPECT_TRUE(parts.front().type == kind::usage || parts.front().type == kind::title)
        << page.name;
    EXPECT_THAT(parts.front().lines.front(), StartsWith("tidegate ")) << page.name;
  }
}

// Whoever adds a command adds it to the list of `tidegate --help`.
TEST(pages, are_all_in_the_list_above_them) {
  const auto pages = all_pages();
  for (const auto& page : pages) {
    if (page.name.empty() || page.name == "relay") continue;
    EXPECT_NE(about_command(pages, page.name), "") << page.name;
  }
}

}  // namespace
}  // namespace tidegate::launch
