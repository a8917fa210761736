// The network interface that has an address, and what else this host offers. Any thread.
#pragma once

#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

// "eth0" for an address (10.0.0.7, ::1) or a host's name. Errors: not_found (no interface has
// it; the message lists those there are), invalid_argument (it does not resolve).
expected<std::string> device_of(const std::string& address);

// Whether the kernel knows an RDMA device.
bool has_rdma_device();

}  // namespace tidegate::runtime
