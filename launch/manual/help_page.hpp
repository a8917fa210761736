// The text of --help in its parts: how it is called, paragraphs, lists of options. Texts are
// written for people, by these rules: a title is a line "tidegate NAME - what it is", a
// paragraph begins at the margin, parts are apart by a
// blank line, an item of a list is indented by two, and what it says stands behind two blanks
// or more, or on lines that are indented further. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tidegate::launch {

struct help_item {
  std::string term;                // "--run-dir DIR", "-n, --lines N", "tidegate ls [FOLDER]"
  std::vector<std::string> lines;  // what is said of it
};

struct help_part {
  enum class kind { title, usage, paragraph, items, verbatim };

  kind type = kind::paragraph;
  std::vector<std::string> lines;  // of a usage one for each way to call it
  std::vector<help_item> items;
};

std::vector<help_part> parts_of(std::string_view help);

// What is said of the option of this long name, as one text; empty: nothing is.
std::string about_option(const std::vector<help_part>& parts, std::string_view name);
// What stands for its value, as DIR in "--run-dir DIR"; empty: it has none.
std::string value_word(const std::vector<help_part>& parts, std::string_view name);

// The names of options that an item is about: "follow" of "-f, --follow".
std::vector<std::string> options_in(const help_item& item);

}  // namespace tidegate::launch
