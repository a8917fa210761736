// Files with secrets: what others can read is no secret. Any thread.
#pragma once

#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Errors: those of read_file(); refused (others than its owner can read it).
runtime::expected<std::string> read_private_file(const std::string& path);

}  // namespace tidegate::launch
