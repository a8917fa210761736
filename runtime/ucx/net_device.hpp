// The network interface that has an address, and what else this host offers. Any thread.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

// "eth0" for an address (10.0.0.7, ::1) or a host's name. Errors: not_found (no interface has
// it; the message lists those there are), invalid_argument (it does not resolve).
expected<std::string> device_of(const std::string& address);

// Returns true if the interface is up and has a carrier: UCX passes over one that is not when
// it starts, and never looks again.
bool device_runs(const std::string& device);

// Waits until it runs. Errors: unavailable (it does not within this time).
status wait_for_device(const std::string& device, std::uint32_t limit_ms);

// Whether the kernel knows an RDMA device.
bool has_rdma_device();

}  // namespace tidegate::runtime
