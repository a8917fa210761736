// The pods of a JobSet of Kubernetes that are the hosts of a cluster: the launcher's, and those
// that have a door (launch/door). Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policies/model/spec.hpp"

namespace tidegate::launch {

// Names of the two jobs that a JobSet has.
inline constexpr const char* launcher_job = "launcher";
inline constexpr const char* hosts_job = "hosts";
// Where a pod has the key of its door.
inline constexpr const char* pod_key_file = "/run/tidegate/key/key";

// Returns the name by which other pods of the JobSet reach the pod that is this host of the
// cluster; the first is the launcher's.
std::string pod_address(const std::string& job_set, std::uint32_t host);
// Returns what starts an agent in the pod with this address.
std::vector<std::string> relay_to_pod(const policies::cluster_spec& spec,
                                      const std::string& address);
// Returns true if objects of Kubernetes can have this name, and pods longer ones that are made
// of it (RFC 1035 labels of 63 characters).
bool is_job_set_name(const std::string& name);

}  // namespace tidegate::launch
