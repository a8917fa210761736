// Words of a POSIX shell. Pure, any thread.
#pragma once

#include <string>
#include <vector>

namespace tidegate::launch {

// Returns the text as one word of a POSIX shell, in quotes.
inline std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char letter : text)
    word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

// Returns a command for people, and for a shell: words are quoted where they have to be.
inline std::string shell_command(const std::vector<std::string>& words) {
  constexpr const char* plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  std::string text;
  for (const auto& word : words) {
    const bool is_plain = !word.empty() && word.find_first_not_of(plain) == std::string::npos;
    text += (text.empty() ? "" : " ") + (is_plain ? word : shell_word(word));
  }
  return text;
}

}  // namespace tidegate::launch
