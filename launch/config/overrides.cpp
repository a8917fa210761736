#include "launch/config/overrides.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "launch/config/yaml_keys.hpp"
#include "launch/text/nearest.hpp"

namespace tidegate::launch {

namespace {

// Splits at dots outside double quotes. Nothing: an empty key or an open quote.
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
  for (const auto& k : keys) {
    if (k.empty()) return std::nullopt;
  }
  if (in_quotes) return std::nullopt;
  return keys;
}

// The '=' that ends the path: the first one outside double quotes.
std::size_t find_equals(std::string_view text) {
  bool in_quotes = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_quotes = !in_quotes;
    if (text[i] == '=' && !in_quotes) return i;
  }
  return std::string_view::npos;
}

// How many keys from `first` on, joined by dots, name an entry of this map; 1 when none does.
std::size_t match(const yaml_node& map, const std::vector<std::string>& keys,
                  std::size_t first) {
  for (std::size_t n = keys.size() - first; n > 1; --n) {
    const std::span run(keys.data() + first, n);
    if (map.find(join(run, ".")) != nullptr) return n;
  }
  return 1;
}

// Returns true if the path has the keys of the pattern, in which * is any.
bool matches(std::string_view pattern, std::string_view path) {
  while (true) {
    const auto a = pattern.find('.'), b = path.find('.');
    const auto key = pattern.substr(0, a);
    if (key != "*" && key != path.substr(0, b)) return false;
    if (a == std::string_view::npos || b == std::string_view::npos) return a == b;
    pattern.remove_prefix(a + 1);
    path.remove_prefix(b + 1);
  }
}

// Returns the key that a plain value is short for, in place of a map; empty if it is for none.
std::string_view short_key(std::string_view path) {
  for (const auto& key : known_keys()) {
    if (!matches(key.path, path)) continue;
    if (key.type == "number or map") return "count";
    if (key.type == "name or map") return "name";
  }
  return {};
}

class one_override {
 public:
  one_override(const std::string& text, problems& out)
      : text_(text), where_{.source = "--set " + text, .line = 0, .column = 0}, out_(out) {}

  void apply(yaml_node& root) {
    const auto equals = find_equals(text_);
    if (equals == std::string::npos) {
      out_.add(where_, "has no '='; allowed: --set path.to.key=value");
      return;
    }
    const auto keys = split_path(std::string_view(text_).substr(0, equals));
    if (!keys) {
      out_.add(where_,
               "the path has an empty key or an open quote; allowed: keys joined by dots");
      return;
    }
    const auto before = out_.size();
    auto value = parse_yaml(text_.substr(equals + 1), where_.source, true, out_);
    if (out_.size() != before) return;
    place_value(root, *keys, std::move(value));
  }

 private:
  void becomes_map(yaml_node& node, std::string_view key) const {
    auto value = std::move(node);
    node = yaml_node{};
    node.type = yaml_node::kind::map;
    node.where = value.where;
    node.add(std::string(key), where_, std::move(value));
  }
  void place_value(yaml_node& root, const std::vector<std::string>& keys, yaml_node value) {
    auto* node = &root;
    std::string shown;
    for (std::size_t i = 0; i < keys.size();) {
      if (node->is_null()) {
        *node = yaml_node{};
        node->type = yaml_node::kind::map;
        node->where = where_;
      }
      if (const auto key = short_key(shown); node->is_scalar() && !key.empty())
        becomes_map(*node, key);
      if (!node->is_map()) {
        out_.add(where_, shown + " is " + std::string(describe(*node)) +
                             ", not a map; allowed: setting it as a whole");
        return;
      }
      const auto n = match(*node, keys, i);
      const auto key = join(std::span(keys.data() + i, n), ".");
      auto* entry = node->find(key);
      if (entry == nullptr) {
        entry = &node->add(key, where_, yaml_node{});
        entry->value.where = where_;
      }
      node = &entry->value;
      shown += (shown.empty() ? "" : ".") + key;
      i += n;
    }
    *node = std::move(value);
  }

  const std::string& text_;
  place where_;
  problems& out_;
};

}  // namespace

void apply_overrides(yaml_node& root, const std::vector<std::string>& sets, problems& out) {
  for (const auto& text : sets) one_override(text, out).apply(root);
}

}  // namespace tidegate::launch
