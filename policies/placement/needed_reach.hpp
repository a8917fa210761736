// Which hosts of a cluster have to reach which, so that its processes can do their work. Pure,
// any thread.
#pragma once

#include <functional>
#include <set>
#include <utility>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies {

// The first connects to the second.
using host_pair = std::pair<host_number, host_number>;

// Returns the pairs of hosts between which processes connect that the cluster begins with:
// members to the coordinator, workers to shards or to their aggregators and back, likewise
// aggregators and those above them, processes that have the same shards, or may move some. The
// launcher, on host 0, connects to the coordinator. `host_of`: where a process is at home.
std::set<host_pair> needed_reach(
    const cluster_spec& cluster,
    const std::function<host_number(const process_name&)>& host_of);

}  // namespace tidegate::policies
