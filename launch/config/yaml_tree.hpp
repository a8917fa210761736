// YAML text as a tree of plain values that knows where each of them stands. The only door to
// yaml-cpp: duplicate keys, aliases that grow without bound and second documents are refused
// here. Plain values, any thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "launch/text/problems.hpp"

namespace tidegate::launch {

struct yaml_entry;

struct yaml_node {
  enum class kind { null, scalar, list, map };

  kind type = kind::null;
  bool quoted = false;  // scalars: '5' is text, 5 is a number
  std::string text;     // scalars
  place where;
  std::vector<yaml_node> items;     // lists
  std::vector<yaml_entry> entries;  // maps, in the order of the file; see add()
  std::unordered_map<std::string, std::size_t> index;  // where in entries a key is

  bool is_null() const noexcept { return type == kind::null; }
  bool is_scalar() const noexcept { return type == kind::scalar; }
  bool is_list() const noexcept { return type == kind::list; }
  bool is_map() const noexcept { return type == kind::map; }

  // Appends an entry of a key that is not there yet, and returns it.
  yaml_entry& add(std::string key, place of_key, yaml_node value);
  // The entry of this key; null when the map has no such key. Valid until entries change.
  const yaml_entry* find(std::string_view key) const noexcept;
  yaml_entry* find(std::string_view key) noexcept;
};

struct yaml_entry {
  std::string key;
  place where;  // of the key
  yaml_node value;
};

// "a map", "a list", "text", "nothing": for messages.
std::string_view describe(const yaml_node& node) noexcept;

// Parses one document. `source` names it in places; with `is_set` places have no line (a --set
// value). Problems (syntax, duplicate keys, no or several documents) are added; the tree is
// what could be read.
yaml_node parse_yaml(const std::string& text, const std::string& source, bool is_set,
                     problems& out);

}  // namespace tidegate::launch
