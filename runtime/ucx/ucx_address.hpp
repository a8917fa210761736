// The address of a UCX worker, in two forms: with everything that leads to it, and with what
// leads to it from another host.
//
//   length of the first u32, little endian | with shared memory | without
#pragma once

#include <string>
#include <string_view>

#include <ucp/api/ucp.h>

#include "runtime/base/status.hpp"
#include "runtime/transport/link.hpp"

namespace tidegate::runtime {

// Errors: unavailable.
expected<std::string> address_of(ucp_worker_h worker);
// The form for a peer that is there; empty when this is no such address.
std::string_view part_of(std::string_view address, reach where);

}  // namespace tidegate::runtime
