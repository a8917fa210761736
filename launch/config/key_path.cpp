#include "launch/config/key_path.hpp"

#include <algorithm>

namespace tidegate::launch {

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  std::vector<std::string> keys(1);
  bool in_quotes = false;
  for (const char c : path) {
    if (c == '"') {
      in_quotes = !in_quotes;
    } else if (c == '.' && !in_quotes) {
      keys.emplace_back();
    } else {
      keys.back() += c;
    }
  }
  const bool has_empty =
      std::any_of(keys.begin(), keys.end(), [](const auto& key) { return key.empty(); });
  if (in_quotes || has_empty) return std::nullopt;
  return keys;
}

bool matches(std::string_view pattern, std::span<const std::string> keys) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto dot = pattern.find('.');
    const auto part = pattern.substr(0, dot);
    if (part != "*" && part != keys[i]) return false;
    if (dot == std::string_view::npos) return i + 1 == keys.size();
    pattern.remove_prefix(dot + 1);
  }
  return false;
}

}  // namespace tidegate::launch
