// Keys of a cluster file as words of a command line. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/config/yaml_keys.hpp"
#include "launch/manual/suggestion.hpp"

namespace tidegate::launch {

// For `tidegate help yaml`: the keys that begin so, and the last parts that do.
std::vector<suggestion> keys_for_help(std::string_view begun, key_table table = known_keys());

// For --set path=value: what may follow the part of a path that has been typed, up to the next
// dot or "=", and behind that the values of a choice. `file` is the text of the cluster file,
// whose jobs, tables and hosts have the names that a path needs; empty where it is not known.
std::vector<suggestion> keys_for_set(std::string_view begun, const std::string& file,
                                     key_table table = known_keys());

}  // namespace tidegate::launch
