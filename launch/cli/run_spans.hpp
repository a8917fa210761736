// Finds the spans of a run for the commands that show them: asks its launcher while it lives,
// else takes what the run has left.
#pragma once

#include <string>
#include <string_view>

#include "launch/cli/command_line.hpp"
#include "launch/text/exit_code.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Returns the path of a file of spans. `command`: that asks, as messages name it. With
// line.clocks it waits until the jobs of a run that goes on, or line.job, have ended the last.
// With line.follow that run leaves spans at its end, too.
// Errors: not_found, with a message for people.
runtime::expected<std::string> find_spans(const command_line& line, std::string_view command);

// Says why nothing is in it.
std::string no_spans_text(const command_line& line);

}  // namespace tidegate::launch
