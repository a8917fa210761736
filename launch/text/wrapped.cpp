#include "launch/text/wrapped.hpp"

#include <algorithm>
#include <vector>

namespace tidegate::launch {

std::string wrapped(std::span<const std::string> words, std::string_view first,
                    std::size_t width) {
  std::string lines;
  std::string line(first);
  bool has_word = false;
  for (const auto& word : words) {
    if (has_word && line.size() + 1 + word.size() > width) {
      lines += line + "\n";
      line.assign(first.size(), ' ');
      has_word = false;
    }
    line += (has_word ? " " : "") + word;
    has_word = true;
  }
  return lines + line + "\n";
}

std::string wrapped(std::string_view text, std::string_view first, std::size_t width) {
  std::vector<std::string> words;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (text.empty()) break;
    words.emplace_back(text.substr(0, text.find(' ')));
    text.remove_prefix(words.back().size());
  }
  return wrapped(words, first, width);
}

}  // namespace tidegate::launch
