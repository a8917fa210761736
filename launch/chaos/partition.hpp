// Cuts a host of a run off from the others, and heals it: the interfaces that have the host's
// addresses (cluster.hosts.*.address) go down, and up again. Runs `ip` of iproute2 with the
// host's prefix, and so needs what that needs, mostly root. Main thread only.
#pragma once

#include <string>
#include <vector>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::chaos {

// Names of the run's hosts that have an address. Errors: those of the run's file.
runtime::expected<std::vector<std::string>> hosts_of(const std::string& run_dir);
// One of them. Errors: not_found, with the names there are.
runtime::expected<policies::host_spec> find_host(const std::string& run_dir,
                                                 const std::string& name);
// The interfaces. Errors: not_found (no interface has an address), io_error (no `ip`, or it
// failed; with what it said).
runtime::expected<std::vector<std::string>> interfaces_of(const policies::host_spec& host);
runtime::status set_interface(const policies::host_spec& host, const std::string& interface,
                              bool up);

}  // namespace tidegate::chaos
