// The hosts that a benchmark's cluster is spread over. Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::bench {

// "10.0.0.1,10.0.0.2 ip netns exec b": for each host its address, and after blanks the command
// that starts its processes. Errors: invalid_argument (not two hosts, or one has no address).
runtime::expected<std::vector<policies::host_spec>> parse_hosts(const std::string& text);

// Coordinator and workers on the first host, shards on the last, so that all payload crosses
// the network.
void spread(const std::vector<policies::host_spec>& hosts, policies::cluster_spec& into);

}  // namespace tidegate::bench
