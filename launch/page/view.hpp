// `tidegate view`: the page of a run from its folder alone.
#pragma once

#include <optional>
#include <string>

#include "launch/text/endpoint.hpp"
#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Prints where a browser finds the page of the run in that folder, whether it goes on, has
// ended or has lost its launcher, and answers until SIGINT or SIGTERM. `address`: of loopback;
// without one the system chooses a port of 127.0.0.1. Returns what to exit with. Main thread,
// before others.
exit_code view_run(const std::string& run_dir, const std::optional<endpoint>& address);

}  // namespace tidegate::launch
