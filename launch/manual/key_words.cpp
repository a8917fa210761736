#include "launch/manual/key_words.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "launch/config/fault_words.hpp"
#include "launch/config/key_path.hpp"
#include "launch/config/yaml_tree.hpp"

namespace tidegate::launch {

namespace {

using path = std::vector<std::string>;

const yaml_key* find_key(const path& keys, key_table table) {
  for (const auto& key : table)
    if (matches(key.path, keys)) return &key;
  return nullptr;
}

// The names in this map of the file, or of nothing where there is no such map.
path names_in(const std::string& file, const path& keys) {
  problems ignored;  // whoever completes a line is not told
  const auto root = parse_yaml(file, "file", false, ignored);
  const auto* node = &root;
  for (const auto& key : keys) {
    const auto* entry = node->find(key);
    if (entry == nullptr) return {};
    node = &entry->value;
  }
  path names;
  for (const auto& entry : node->entries) names.push_back(entry.key);
  return names;
}

std::string in_quotes(const std::string& name) {
  return name.find_first_of(".=") == std::string::npos ? name : "\"" + name + "\"";
}

bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_of(" :{}[](),") == std::string_view::npos;
}

std::vector<suggestion> values_of(std::string_view begun, key_table table) {
  const auto equals = begun.find('=');
  const auto keys = split_path(begun.substr(0, equals));
  const auto* key = keys ? find_key(*keys, table) : nullptr;
  if (key == nullptr || !key->type.starts_with("choice")) return {};
  std::vector<suggestion> values;
  auto allowed = std::string(key->allowed.substr(0, key->allowed.find(';')));
  for (auto value : split(allowed, ',')) {
    value.erase(0, std::min(value.find_first_not_of(' '), value.size()));
    if (is_word(value)) values.push_back({std::string(begun.substr(0, equals + 1)) + value});
  }
  return values;
}

}  // namespace

std::vector<suggestion> keys_for_help(std::string_view begun, key_table table) {
  std::vector<suggestion> words;
  std::set<std::string_view> last_parts;
  for (const auto& key : table) {
    if (key.path.starts_with(begun))
      words.push_back({std::string(key.path), std::string(key.doc)});
    const auto last = key.path.substr(key.path.rfind('.') + 1);
    if (!begun.empty() && last != key.path && last.starts_with(begun)) last_parts.insert(last);
  }
  for (const auto last : last_parts) words.push_back({std::string(last), "keys that end so"});
  return words;
}

std::vector<suggestion> keys_for_set(std::string_view begun, const std::string& file,
                                     key_table table) {
  if (begun.find('=') != std::string_view::npos) return values_of(begun, table);
  const auto dot = begun.rfind('.');
  const auto parent = dot == std::string_view::npos ? "" : begun.substr(0, dot);
  const auto keys = parent.empty() ? path() : split_path(parent).value_or(path());
  if (keys.empty() && !parent.empty()) return {};
  const auto* above = parent.empty() ? nullptr : find_key(keys, table);
  if (above == nullptr && !parent.empty()) return {};
  auto names = keys_below(above == nullptr ? "" : above->path, table);
  const bool is_free = !names.empty() && names.front() == "*";
  if (is_free) names = names_in(file, keys);
  std::vector<suggestion> words;
  for (const auto& name : names) {
    auto all = keys;
    all.push_back(name);
    const auto* key = find_key(all, table);
    if (key == nullptr) continue;
    const auto word = join_path(parent, is_free ? in_quotes(name) : name);
    const bool is_map = key->type.ends_with("map") && !keys_below(key->path, table).empty();
    const auto about = std::string(key->doc);
    if (key->type != "map") words.push_back({word + "=", about});
    if (is_map) words.push_back({word + ".", about});
  }
  std::erase_if(words, [&](const auto& each) { return !each.word.starts_with(begun); });
  return words;
}

}  // namespace tidegate::launch
