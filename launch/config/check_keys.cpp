#include "launch/config/check_keys.hpp"

#include <algorithm>

#include "launch/config/yaml_mistakes.hpp"
#include "launch/text/nearest.hpp"

namespace tidegate::launch {

namespace {

void walk(const yaml_node& node, const std::string& pattern, const std::string& shown,
          key_table table, problems& out) {
  const auto known = keys_below(pattern, table);
  if (known.empty()) return;  // a leaf: its reader says what is wrong with a map here
  const bool free_names = known.front() == "*";
  for (std::size_t i = 0; free_names && i < node.items.size(); ++i)
    walk(node.items[i], join_path(pattern, "*"), shown + "[" + std::to_string(i) + "]", table,
         out);
  for (const auto& e : node.entries) {
    if (free_names || std::find(known.begin(), known.end(), e.key) != known.end()) {
      walk(e.value, join_path(pattern, free_names ? "*" : e.key), join_path(shown, e.key),
           table, out);
      continue;
    }
    std::string entry =
        "unknown key '" + e.key + "' in " + (shown.empty() ? "the file" : shown);
    const auto mistake = e.value.is_null() ? mistake_in_key(e.key) : std::string();
    if (!mistake.empty()) entry += "; " + mistake;
    const auto near = nearest(e.key, known);
    if (!near.empty()) entry += "; did you mean '" + near + "'?";
    // A path that does not exist is the fault of --set even where the file has the same
    // mistake.
    out.add(e.value.where.from_set() ? e.value.where : e.where,
            entry + "; allowed: " + join(known));
  }
}

}  // namespace

void check_keys(const yaml_node& root, problems& out, key_table table) {
  walk(root, "", "", table, out);
}

}  // namespace tidegate::launch
