// The name of a rule of a plugin, an optimizer or a reduction (include/tidegate/plugin.h), as a
// plain value: options of optimizers are copied and compared often. Any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tidegate::runtime {

// What stands before the name in YAML and in programs: "plugin:lion".
inline constexpr std::string_view plugin_prefix = "plugin:";

struct rule_name {
  static constexpr std::size_t most = 23;  // characters
  std::array<char, most + 1> text = {};    // zeros behind the name

  constexpr bool empty() const noexcept { return text.front() == 0; }
  constexpr std::string_view view() const noexcept {
    return {text.data(), static_cast<std::size_t>(
                             std::find(text.begin(), text.end() - 1, '\0') - text.begin())};
  }
  friend constexpr bool operator==(const rule_name&, const rule_name&) = default;
};

// Names of what plugins have: letters and digits of ASCII, '_', '-' and '.'.
constexpr bool is_plugin_name(std::string_view name, std::size_t most) noexcept {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
  };
  return !name.empty() && name.size() <= most &&
         std::all_of(name.begin(), name.end(), is_letter);
}

// Returns the name as a value, or nothing for one that no rule can have.
constexpr std::optional<rule_name> make_rule_name(std::string_view name) noexcept {
  if (!is_plugin_name(name, rule_name::most)) return std::nullopt;
  rule_name rule;
  std::copy(name.begin(), name.end(), rule.text.begin());
  return rule;
}

// Returns the name behind "plugin:", or nothing for another word.
constexpr std::optional<rule_name> rule_of_word(std::string_view word) noexcept {
  if (!word.starts_with(plugin_prefix)) return std::nullopt;
  return make_rule_name(word.substr(plugin_prefix.size()));
}

// Returns the word that rule_of_word() reads.
inline std::string word_of(const rule_name& rule) {
  return std::string(plugin_prefix) + std::string(rule.view());
}

}  // namespace tidegate::runtime
