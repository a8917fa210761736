// Makes a UCX context with the settings that our frames want, on top of the user's UCX_*
// variables.
#pragma once

#include <ucp/api/ucp.h>

#include "runtime/base/status.hpp"
#include "runtime/ucx/ucx_link.hpp"

namespace tidegate::runtime {

// Errors: unavailable (UCX finds nothing that works), not_found and invalid_argument (the
// address in the options).
expected<ucp_context_h> make_ucx_context(const ucx_options& options);

}  // namespace tidegate::runtime
