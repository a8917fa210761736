// The hosts of a cluster file: cluster.hosts and every list of their names. Problems go to the
// section's list. Any thread.
#pragma once

#include <string>
#include <vector>

#include "launch/config/section.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::launch {

// cluster.hosts, coordinator_host and shard_hosts; the control plane listens at the address of
// the coordinator's host unless the file says where.
void read_hosts(const section& cluster, policies::cluster_spec& into);

// A list of host names under `key`; whether they exist is checked by check_hosts.
std::vector<std::string> read_host_names(const section& from, std::string_view key);

// Every name is a host, and hosts and transport go together.
void check_hosts(const section& root, const policies::cluster_spec& spec);

// Texts of a list, the first not empty. False, and noted, when the value is not such a list.
bool read_words(const section& from, std::string_view key, std::vector<std::string>& into);

}  // namespace tidegate::launch
