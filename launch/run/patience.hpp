// Waits for what comes late where another system starts hosts one after the other, as
// Kubernetes does pods: names of hosts, and the end of a launcher whose host was lost. Each
// says once on stdout that it waits. Main thread.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>

#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"
#include "runtime/base/unique_fd.hpp"

namespace tidegate::launch {

// Waits until the addresses of all hosts are known, for so long at most; 0: not at all. Errors:
// unavailable (one is not, and the message says which).
runtime::status await_names(const policies::cluster_spec& spec, std::uint32_t patience_ms);

// Locks FOLDER/launcher.lock, which is made if it is not there, for as long as the descriptor
// is open. Waits for so long at most for another launcher that has it: the lock of one that was
// on another machine may outlive it. Returns no descriptor if another still has it. `mode`: as
// of open(2). Errors: io_error.
runtime::expected<runtime::unique_fd> lock_as_launcher(const std::string& folder, mode_t mode,
                                                       std::uint32_t patience_ms);

}  // namespace tidegate::launch
