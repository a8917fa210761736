// The one table of every key a cluster file may hold. It drives the check for unknown keys, the
// "allowed:" of every message, `tidegate help yaml`, and docs/yaml.md (a test compares them).
// Files of other kinds have tables of their own.
// Constant data, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidegate::launch {

struct yaml_key {
  std::string_view path;  // `*` stands for a name that the user chooses
  std::string_view type;
  std::string_view
      preset;  // the value without the key; "required", or "-" where that has no meaning
  std::string_view allowed;
  std::string_view doc;  // one line
};

using key_table = std::span<const yaml_key>;

key_table known_keys() noexcept;

// The row of this pattern ("jobs.*.workers"); asserted to exist.
const yaml_key& key_of(std::string_view pattern, key_table table = known_keys()) noexcept;

// The last parts of the keys directly below a pattern ("" is the root): "cluster", "jobs"; "*"
// for free names; empty below a leaf.
std::vector<std::string> keys_below(std::string_view pattern, key_table table = known_keys());

// "jobs.*" + "workers"
std::string join_path(std::string_view parent, std::string_view key);

// One row of the table in docs/yaml.md.
std::string markdown_row(const yaml_key& key);
// What `tidegate help yaml` prints; `heading` says of what the keys are.
std::string keys_help(std::string_view heading = "Keys of a cluster file",
                      key_table table = known_keys());

}  // namespace tidegate::launch
