// A cluster_spec as YAML with every default written out. Pure, any thread.
#pragma once

#include <string>

#include "policies/model/spec.hpp"

namespace tidegate::launch {

// parse_cluster reads it back to the identical spec.
std::string write_yaml(const policies::cluster_spec& spec);

}  // namespace tidegate::launch
