// `--set path=value`: changes to the tree of a YAML file before it is read. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "launch/config/yaml_tree.hpp"

namespace tidegate::launch {

// Applies them from left to right. A path is keys joined by dots; a key that holds dots itself
// is found if the file has it, else it is written in double quotes:
// jobs.mlp.tables."fc1.weight".shape=[10]. The value is YAML (`3`, `ssp`, `[a, b]`, `{policy:
// bsp}`). Missing maps on the way are created. Problems are added, located as `--set
// path=value`.
void apply_overrides(yaml_node& root, const std::vector<std::string>& sets, problems& out);

}  // namespace tidegate::launch
