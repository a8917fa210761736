// Every key that a scale file may hold, as launch/config/yaml_keys.hpp has those of a cluster
// file. docs/scaling.md lists the same (a test compares them). Constant data, any thread.
#pragma once

#include "launch/config/yaml_keys.hpp"

namespace tidegate::simulate {

launch::key_table scale_keys() noexcept;

}  // namespace tidegate::simulate
