#include "launch/config/key_help.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>

#include "launch/config/key_path.hpp"
#include "launch/text/nearest.hpp"
#include "launch/text/printable.hpp"
#include "launch/text/wrapped.hpp"

namespace tidegate::launch {

namespace {

using path = std::vector<std::string>;

// "segments[0]" is an item of a list, which the table of keys calls "segments.*".
std::string with_stars(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    auto end = i + 1;
    while (end < word.size() && std::isdigit(static_cast<unsigned char>(word[end])) != 0) ++end;
    const bool is_index =
        word[i] == '[' && end > i + 1 && end < word.size() && word[end] == ']';
    if (is_index) text += ".*";
    if (!is_index) text += word[i];
    if (is_index) i = end;
  }
  return text;
}

// Returns the pattern of as many of the first keys as there are in the table, and how many.
std::pair<std::string, std::size_t> known_part(const path& keys, key_table table) {
  for (auto n = keys.size(); n > 0; --n)
    for (const auto& key : table)
      if (matches(key.path, std::span(keys.data(), n))) return {std::string(key.path), n};
  return {};
}

std::string last_part(std::string_view key) {
  return std::string(key.substr(key.rfind('.') + 1));
}

std::string quoted(std::string_view word) {
  constexpr std::size_t shown_bytes_max = 128;
  return "'" + shortened(word, shown_bytes_max) + "'";
}

// The names below the part that is known; of a word alone the keys with the nearest name.
std::string nearest_keys(const path& keys, key_table table) {
  const auto [parent, known] = known_part(keys, table);
  if (known > 0) {
    const auto below = keys_below(parent, table);
    if (below.empty()) return "; " + parent + " has no keys below it";
    const auto near = nearest(keys[known], below);
    return (near.empty() ? "" : "; did you mean '" + near + "'?") + ("; below " + parent) +
           " there are: " + join(below);
  }
  std::vector<std::string> names;
  for (const auto& key : table) names.push_back(last_part(key.path));
  const auto near = nearest(keys.back(), names);
  if (near.empty()) return "; `tidegate help yaml` shows all";
  std::vector<std::string> meant;
  for (const auto* key : find_keys(near, table)) meant.emplace_back(key->path);
  return "; did you mean " + join(meant, " or ") + "?";
}

std::string field(std::string_view name, std::string_view value) {
  constexpr std::size_t name_columns = 10;
  std::string first = "  " + std::string(name);
  first.resize(name_columns + 2, ' ');
  return wrapped(value, first);
}

std::string of_single(const yaml_key& key, key_table table) {
  auto text = std::string(key.path) + "\n" + wrapped(key.doc, "  ") + "\n" +
              field("type", key.type) + field("default", key.preset) +
              field("allowed", key.allowed);
  const auto below = keys_below(key.path, table);
  if (below.empty()) return text;
  text += "\nBelow it:\n";
  for (const auto& name : below) {
    const auto& each = key_of(join_path(key.path, name), table);
    text += "\n  " + std::string(each.path) + "\n" + wrapped(each.doc, "      ");
  }
  return text;
}

}  // namespace

std::vector<const yaml_key*> find_keys(std::string_view word, key_table table) {
  const auto keys = split_path(with_stars(word));
  if (!keys) return {};
  std::vector<const yaml_key*> found;
  for (const auto& key : table)
    if (matches(key.path, *keys)) return {&key};
  const auto end = "." + join(*keys, ".");
  for (const auto& key : table)
    if (key.path.ends_with(end)) found.push_back(&key);
  return found;
}

runtime::expected<std::string> key_help(std::string_view word, key_table table) {
  const auto found = find_keys(word, table);
  if (found.size() == 1) return of_single(*found.front(), table);
  if (!found.empty()) {
    auto text = std::to_string(found.size()) + " keys end with " + quoted(word) + ":\n";
    for (const auto* key : found)
      text += "\n  " + std::string(key->path) + "\n" + wrapped(key->doc, "      ");
    return text;
  }
  const auto keys = split_path(with_stars(word));
  return runtime::fail(
      runtime::errc::invalid_argument,
      "help yaml: no key " + quoted(word) +
          (keys ? nearest_keys(*keys, table)
                : "; allowed: keys joined by dots, those with a dot in double quotes"));
}

}  // namespace tidegate::launch
