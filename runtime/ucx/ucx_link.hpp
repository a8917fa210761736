// The link over UCX: active messages, rendezvous straight into the place the sink gives.
//
// One ucp_context and one ucp_worker (UCS_THREAD_MODE_SERIALIZED) per link. UCX's own
// environment variables choose transports (UCX_TLS) and must be set before make_ucx_link;
// UCX_MM_ERROR_HANDLING=y is needed for shared memory, since endpoints ask for peer-failure
// handling.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

struct ucx_options {
  std::string address;         // at which other hosts reach this one; empty: all there are
  bool rdma_if_there = false;  // add RDMA to UCX_TLS where the host has it
  bool rdma_only = false;      // fail where it has none
  // Nothing can be received any more: a process of this host died while it wrote to our queue
  // in shared memory, and UCX waits for the rest of that message for ever. Told once, within
  // arm(), after so long. Null: the process says so and ends, and is then replaced like any
  // that died.
  std::function<void()> on_stuck;
  std::uint32_t stuck_after_ms = 10'000;
};

// Errors: unavailable (UCX finds no usable transport; the message names UCX_TLS), not_found and
// invalid_argument (the address is not of this host).
expected<std::unique_ptr<link>> open_ucx_link(const ucx_options& options);
inline expected<std::unique_ptr<link>> make_ucx_link() {
  return open_ucx_link({});
}

}  // namespace tidegate::runtime
