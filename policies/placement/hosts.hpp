// Which host of a cluster runs which process. Pure functions, any thread. They return null
// where the cluster names no hosts, else a host that is valid as long as `cluster`. Names in
// the spec are names of its hosts (launch/ checks that).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policies/model/process_name.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::policies {

// Returns true if a host has an agent of its own; else its processes are started by the
// launcher's, on the launcher's machine.
bool has_agent(const host_spec& host) noexcept;
// Returns those hosts, in the order of the cluster's.
std::vector<const host_spec*> agent_hosts(const cluster_spec& cluster);

// Returns the host of an agent by its number: 0 is the launcher's own, the others are
// agent_hosts() from 1 on. Of several that are the launcher's, the first; null if none is.
const host_spec* host_of_agent(const cluster_spec& cluster, host_number agent) noexcept;

const host_spec* find_host(const cluster_spec& cluster, std::string_view name) noexcept;

// Returns its address and its rails; none where it has no address.
std::vector<std::string> addresses_of(const host_spec& host);

const host_spec* host_of_coordinator(const cluster_spec& cluster) noexcept;
// Returns true if the launcher starts the coordinator on its own machine, so that a crash of
// the machine ends both. Where a prefix starts it, it may be another machine.
bool coordinator_is_beside_launcher(const cluster_spec& cluster) noexcept;
// Returns the hosts of shards in turn, so that each host's network carries the same share.
const host_spec* host_of_shard(const cluster_spec& cluster, std::uint32_t index) noexcept;
// Returns the next host after the shard's that holds shards, for a second replica the next but
// one: another host, where there are so many. Where hosts have racks it is in another rack, and
// a second replica in yet another one, where there are so many.
const host_spec* host_of_replica(const cluster_spec& cluster, std::uint32_t index);
// Returns the hosts of workers in blocks of consecutive ranks, as even as can be: the sum that
// a host makes before the network is crossed is then a subtree of the canonical sum.
const host_spec* host_of_worker(const cluster_spec& cluster, const job_spec& job,
                                std::uint32_t rank) noexcept;

}  // namespace tidegate::policies
