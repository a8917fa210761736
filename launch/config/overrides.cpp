#include "launch/config/overrides.hpp"

#include <span>

#include "launch/config/key_path.hpp"
#include "launch/config/yaml_keys.hpp"
#include "launch/text/nearest.hpp"

namespace tidegate::launch {

namespace {

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

// Returns the key that a plain value is short for, in place of a map; empty if it is for none.
std::string_view short_key(std::span<const std::string> path) {
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
    std::vector<std::string> walked;
    for (std::size_t i = 0; i < keys.size();) {
      if (node->is_null()) {
        *node = yaml_node{};
        node->type = yaml_node::kind::map;
        node->where = where_;
      }
      if (const auto key = short_key(walked); node->is_scalar() && !key.empty())
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
      walked.push_back(key);
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
