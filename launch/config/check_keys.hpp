// Refuses keys that nobody reads. Pure, any thread.
#pragma once

#include "launch/config/yaml_keys.hpp"
#include "launch/config/yaml_tree.hpp"

namespace tidegate::launch {

// Notes every key of the tree that the key table does not know, with the nearest one that it
// does.
void check_keys(const yaml_node& root, problems& out, key_table table = known_keys());

}  // namespace tidegate::launch
