// runtime::status <-> caf::error, so that typed actors answer with our errors across processes.
#pragma once

#include <caf/error.hpp>

#include "runtime/base/status.hpp"

namespace tidegate::actors {

caf::error to_error(const runtime::status& why);
// Errors of CAF's own become unavailable or timed_out, with `doing` in the message.
runtime::status to_status(const caf::error& why, const std::string& doing);
// Whether CAF says so because the peer, or the connection to it, is gone: no answer then.
bool is_lost(const caf::error& why);

}  // namespace tidegate::actors
