// The link to nowhere: for a process all of whose peers are on its host (host_link.hpp). It has
// no socket, so nobody from elsewhere reaches it, and it reaches nobody. Thread rule: that of a
// link.
#pragma once

#include <memory>

#include "runtime/base/status.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

// connect() fails with unavailable. Errors: io_error (no descriptor).
expected<std::unique_ptr<link>> make_null_link();

}  // namespace tidegate::runtime
