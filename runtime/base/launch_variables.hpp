// The variables that a launcher has set for this process: its environment and, in a process
// that was started as a spare, those of the place that it has taken since. Any thread, once
// the place has been taken.
#pragma once

#include <map>
#include <string>

namespace tidegate::runtime {

using launch_variables = std::map<std::string, std::string>;

// Returns the value of a variable, or null where it is not set. Valid as long as the process.
const char* launch_variable(const char* name) noexcept;
// Has these come before the environment. Asserted: it is called once at most.
void take_launch_variables(launch_variables all);
// Returns those that were taken; empty in a process that was given its place as it began.
const launch_variables& taken_launch_variables() noexcept;

}  // namespace tidegate::runtime
