// What a command prints. Any thread.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Runs a command, found in PATH, and returns what it prints, also on stderr. Blocks until it
// ends. Errors: io_error (it cannot be run, or fails; the message has what it prints).
runtime::expected<std::string> output_of(const std::vector<std::string>& command);

}  // namespace tidegate::launch
