// What commands ask of the launcher of a run.
#pragma once

#include <string>

namespace tidegate::launch {

// Sends this line, waits for the answer, and says on stderr why not. Returns true if the
// launcher has agreed. `command`: whose user is told ("scale").
bool ask_of_run(const std::string& command, const std::string& run_dir,
                const std::string& line);

}  // namespace tidegate::launch
