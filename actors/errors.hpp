// runtime::status <-> caf::error, so that typed actors answer with our errors across processes.
#pragma once

#include <caf/error.hpp>

#include "runtime/base/status.hpp"

namespace tidegate::actors {

caf::error to_error(const runtime::status& why);
// Errors of CAF's own become unavailable or timed_out, with `doing` in the message.
runtime::status to_status(const caf::error& why, const std::string& doing);

}  // namespace tidegate::actors
