// A line that says how a command is called, "tidegate logs RUN_DIR [PROCESS] [-f]", as the
// words that are expected one after the other. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launch/text/command_page.hpp"

namespace tidegate::launch {

// The words that are no options, in order: one in capitals stands for what it names, any other
// for itself, and "kill|stop" for either. Brackets are taken off. What belongs to an option
// that takes a value is left out.
std::vector<std::string> positional_words(std::string_view usage, const command_page& page);

// "RUN_DIR", "FILE"
bool is_placeholder(std::string_view word);

}  // namespace tidegate::launch
