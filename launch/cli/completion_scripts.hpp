// What shells run to complete a command line of `tidegate`: each asks `tidegate complete`.
// Constant data, any thread.
#pragma once

#include <string_view>

namespace tidegate::launch {

// "bash", "zsh", "fish"; empty: no script is for that shell.
std::string_view completion_script(std::string_view shell);

}  // namespace tidegate::launch
