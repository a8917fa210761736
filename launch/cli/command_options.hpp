// The options of each command of `tidegate`. Pure, any thread.
#pragma once

#include <boost/program_options.hpp>

#include "launch/cli/command_line.hpp"

namespace tidegate::launch {

// Those of this command, bound to `into`, which outlives them.
boost::program_options::options_description options_of(command_kind kind, command_line& into);

}  // namespace tidegate::launch
