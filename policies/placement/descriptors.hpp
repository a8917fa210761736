// How many file descriptors the processes of a cluster take, and how many others of its host
// each shares memory with: what would otherwise end in a silence at clock 0. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::policies {

// A process that no other one of its role exceeds.
struct process_needs {
  std::string process;            // "shard-0", "the launcher"
  std::uint64_t peers = 0;        // processes that it exchanges frames with
  std::uint64_t host_peers = 0;   // those of them that it shares memory with
  std::uint64_t descriptors = 0;  // before payload, as the cluster begins
  std::uint64_t mappings = 0;     // that make one array of each declared table (mappings.hpp)
};

// Returns the needs of each role that the cluster has, with all the workers that may join
// later.
std::vector<process_needs> process_needs_of(const cluster_spec& cluster);

// Checks the needs against the number of descriptors that a process may have here. Errors:
// over_limit (the message says what to do).
runtime::status check_process_needs(const cluster_spec& cluster, std::uint64_t limit);

// Returns the number of descriptors to ask the kernel for, if it gives that many: with room for
// payload, and for all shards that may come to be in one process.
std::uint64_t descriptors_wanted(const cluster_spec& cluster);

}  // namespace tidegate::policies
