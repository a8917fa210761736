// Where the program of a worker is. Any thread.
#pragma once

#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// A name with a slash is taken as it is (relative to the working folder); one without is looked
// for in `beside` (the folder of tidegate) and then in `path` (PATH). Errors: not_found, naming
// the places.
runtime::expected<std::string> find_program(const std::string& name, const std::string& beside,
                                            const std::string& path);

// The running program itself. Errors: io_error.
runtime::expected<std::string> own_program();

}  // namespace tidegate::launch
