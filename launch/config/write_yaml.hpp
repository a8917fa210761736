// A cluster file as YAML with every default written out. Pure, any thread.
#pragma once

#include <string>

#include "launch/config/read_spec.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

// parse_cluster reads it back to the identical spec.
std::string write_yaml(const policies::cluster_spec& spec);
// parse_cluster_file reads it back to the identical file.
std::string write_yaml(const policies::cluster_spec& spec,
                       const std::optional<otlp_spec>& otlp);

}  // namespace tidegate::launch
