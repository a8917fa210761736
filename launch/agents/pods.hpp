// The pods of a JobSet of Kubernetes that are the hosts of a cluster: the launcher's, and those
// that have a door (launch/door). Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Names of the two jobs that a JobSet has.
inline constexpr const char* launcher_job = "launcher";
inline constexpr const char* hosts_job = "hosts";
// Where a pod has the key of its door.
inline constexpr const char* pod_key_file = "/run/tidegate/key/key";

// Gives the hosts the addresses by which pods reach each other, the first the launcher's, and
// the cluster a time for its start in which images are loaded, if it has the default. Errors:
// invalid_argument (the cluster's name cannot be that of pods: RFC 1035, 63 characters with
// what is added to it).
runtime::status name_pods(policies::cluster_spec& cluster);
// Returns what starts an agent in the pod with this address.
std::vector<std::string> relay_to_pod(const policies::cluster_spec& cluster,
                                      const std::string& address);

}  // namespace tidegate::launch
