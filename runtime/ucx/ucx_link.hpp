// The link over UCX: active messages, rendezvous straight into the place the sink gives.
//
// One ucp_context and one ucp_worker (UCS_THREAD_MODE_SERIALIZED) per link. UCX's own
// environment variables choose transports (UCX_TLS) and must be set before make_ucx_link.
// Between hosts: shared memory is host_link.hpp's, and UCX is never asked for it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/status.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

struct ucx_options {
  std::string address;         // at which other hosts reach this one; empty: all there are
  bool rdma_if_there = false;  // add RDMA to UCX_TLS where the host has it
  bool rdma_only = false;      // fail where it has none
  // A TCP connection ends when bytes have gone unacknowledged for so long (stream_guard.hpp);
  // 0: when the kernel thinks so.
  std::uint32_t silent_ms = 0;
};

// Errors: unavailable (UCX finds no usable transport; the message names UCX_TLS), not_found and
// invalid_argument (the address is not of this host).
expected<std::unique_ptr<link>> open_ucx_link(const ucx_options& options);
inline expected<std::unique_ptr<link>> make_ucx_link() {
  return open_ucx_link({});
}

}  // namespace tidegate::runtime
