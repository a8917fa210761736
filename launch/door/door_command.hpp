// The command lines of `tidegate door` and `tidegate relay`. Main thread only.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "launch/door/door.hpp"
#include "launch/door/relay.hpp"
#include "launch/text/command_page.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Returns true if a command line of `tidegate` is for here: door, relay, help door, help relay.
bool is_door_command(const std::vector<std::string>& args);

struct door_help {};
using door_command = std::variant<door_help, door_options, relay_options>;
// `args` without the program's name, is_door_command(). Pure. Errors: invalid_argument.
runtime::expected<door_command> parse_door_command(const std::vector<std::string>& args);

// What door and relay are, for manuals and completion.
std::vector<command_page> door_pages();

// Returns what to exit with.
int run_door_command(const std::vector<std::string>& args);

}  // namespace tidegate::launch
