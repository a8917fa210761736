// What a run says of itself, wherever it is in its life.
#pragma once

#include <functional>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Asks the launcher of that run folder, or reads the result that it has left: a line as of
// status_line(). Blocks as ask_launcher(). Errors: unavailable (neither is there); corrupt.
runtime::expected<std::string> read_status(const std::string& run_dir,
                                           const std::function<void()>& waits);

// Returns true if it is of a run that has ended.
bool has_ended(const std::string& status_line);

}  // namespace tidegate::launch
