#include "launch/manual/usage_line.hpp"

#include <algorithm>
#include <cctype>
#include <sstream>

namespace tidegate::launch {

namespace {

bool takes_next(const std::string& option, const command_page& page) {
  if (option.find('=') != std::string::npos) return false;
  const auto is_it = [&](const option_name& known) {
    return option == "--" + known.name ||
           (known.letter != 0 && option == std::string("-") + known.letter);
  };
  const auto at = std::find_if(page.options.begin(), page.options.end(), is_it);
  return at != page.options.end() && at->has_value;
}

std::string without_brackets(std::string word) {
  std::erase_if(word, [](char c) { return c == '[' || c == ']'; });
  while (word.ends_with('.')) word.pop_back();
  return word;
}

}  // namespace

bool is_placeholder(std::string_view word) {
  const auto is_letter = [](char c) {
    return std::isupper(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), is_letter);
}

std::vector<std::string> positional_words(std::string_view usage, const command_page& page) {
  const auto begin =
      std::min(usage.size(), std::string_view("tidegate ").size() + page.name.size());
  std::istringstream rest{std::string(usage.substr(begin))};
  std::vector<std::string> positional;
  bool is_value = false;
  for (std::string read; rest >> read;) {
    const auto word = without_brackets(read);
    if (read == ">") break;  // where its output goes is the shell's
    if (word == "|" || word == "..." || word.empty()) continue;
    if (word == "options") continue;
    if (!is_value && !word.starts_with('-')) positional.push_back(word);
    is_value = word.starts_with('-') && takes_next(word, page);
  }
  return positional;
}

}  // namespace tidegate::launch
