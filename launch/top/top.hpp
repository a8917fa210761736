// `tidegate top`: looks at a run once in a second, and shows it.
#pragma once

#include <string>

#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

// Shows the run until it has ended or the user leaves: on a terminal as a screen that is drawn
// anew, elsewhere as text, once in a second. Blocks; of a run that has ended it says how.
exit_code show_top(const std::string& run_dir);

}  // namespace tidegate::launch
