#include "launch/cli/request.hpp"

#include <iostream>
#include <string_view>

#include "launch/run/control_socket.hpp"

namespace tidegate::launch {

bool ask_of_run(const std::string& command, const std::string& run_dir,
                const std::string& line) {
  const auto program = "tidegate " + command + ": ";
  // A coordinator may have to come back first, or the launcher be stopped.
  const auto answer = ask_launcher(run_dir, line, [&] {
    std::cerr << program << "waiting for the launcher in " << run_dir
              << " to answer (Ctrl-C ends the waiting, not the run)\n";
  });
  constexpr std::string_view error = "error ";
  if (answer && !answer->starts_with(error)) return true;
  std::cerr << program << (answer ? answer->substr(error.size()) : answer.error().message())
            << "\n";
  return false;
}

}  // namespace tidegate::launch
