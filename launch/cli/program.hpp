// The `tidegate` program, less its main(). Main thread only.
#pragma once

#include <string>
#include <vector>

#include "launch/run/services.hpp"

namespace tidegate::launch {

// `args` without the program's name. Returns what to exit with (launch::exit_code).
int run_program(const std::vector<std::string>& args, const services& cluster);

}  // namespace tidegate::launch
