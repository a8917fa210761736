// What this machine lets a process of a cluster have. Any thread.
#pragma once

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Returns over_limit if this machine does not give a process the file descriptors that one of
// the cluster's needs, or if one has more neighbours than it can share memory with; the message
// says what to do.
runtime::status check_limits_of_this_machine(const policies::cluster_spec& spec);
// Raises this process's limit so far; whoever is started has it, too.
void raise_descriptor_limit(const policies::cluster_spec& spec);

}  // namespace tidegate::launch
