// All commands of `tidegate`, for manuals and completion. Any thread.
#pragma once

#include <vector>

#include "launch/text/command_page.hpp"

namespace tidegate::launch {

// The first is that of `tidegate` itself, whose name is empty; the others are in the order of
// their names.
std::vector<command_page> all_pages();

}  // namespace tidegate::launch
