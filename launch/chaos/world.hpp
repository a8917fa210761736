// What is done to hosts and disks of a run, and undone. Each blocks for as long as it lasts, or
// until Ctrl-C. Main thread only.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.hpp"

namespace tidegate::chaos {

// The disk of the run folder is full for so long. Errors: refused, io_error.
runtime::status fill(const std::string& run_dir, std::uint64_t for_ms);
// The host is cut off from the others (or, `heals`, is not any more); with a time it is healed
// after that, whatever else comes. Errors: not_found, io_error.
runtime::status cut_off(const std::string& run_dir, const std::string& host, bool heals,
                        std::uint64_t for_ms);

}  // namespace tidegate::chaos
