// Waits for what comes late where another system starts hosts one after the other, as
// Kubernetes does pods: names of hosts, and the end of a launcher whose host was lost. Main
// thread.
#pragma once

#include <cstdint>
#include <string>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Waits until the addresses of all hosts are known, for so long at most. Errors: unavailable
// (one is not, and the message says which).
runtime::status await_names(const policies::cluster_spec& spec, std::uint32_t within_ms);

// Waits until no launcher has this run folder, for so long at most: the lock of one that was on
// another machine may outlive it. Errors: already_exists (a launcher has it), io_error.
runtime::status await_launcher(const std::string& run_dir, std::uint32_t within_ms);

}  // namespace tidegate::launch
