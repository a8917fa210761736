// UCX's errors as statuses.
#pragma once

#include <ucs/type/status.h>

#include "runtime/base/status.hpp"

namespace tidegate::runtime {

// unavailable: "<operation>: <UCX's words> (UCX_TLS=...)"; most such errors are a matter of
// transports.
status ucx_error(const char* operation, ucs_status_t code);

}  // namespace tidegate::runtime
