// The link over UCX: active messages, rendezvous straight into the place the sink gives.
//
// One ucp_context and one ucp_worker (UCS_THREAD_MODE_SERIALIZED) per link. UCX's own
// environment variables choose transports (UCX_TLS) and must be set before make_ucx_link;
// UCX_MM_ERROR_HANDLING=y is needed for shared memory, since endpoints ask for peer-failure
// handling.
#pragma once

#include <memory>

#include "runtime/base/status.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

// Errors: unavailable (UCX finds no usable transport; the message names UCX_TLS).
expected<std::unique_ptr<link>> make_ucx_link();

}  // namespace tidegate::runtime
