// Which processes a cluster begins with. Pure, any thread.
#pragma once

#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies {

// Returns the names of the processes that a launcher starts for this cluster, in the order of
// their start: the coordinator, the processes of shards, aggregators, workers. Processes that
// may join later are not among them.
std::vector<process_name> process_names_of(const cluster_spec& cluster);

}  // namespace tidegate::policies
