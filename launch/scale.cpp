#include "launch/scale.hpp"

#include <iostream>

#include "launch/control_socket.hpp"

namespace tidegate::launch {

namespace {

// A coordinator may have to come back first.
constexpr std::uint32_t patience_ms = 60'000;

}  // namespace

exit_code scale_run(const command_line& line) {
  const auto answer = ask_launcher(
      line.file, "scale " + std::to_string(line.workers) + " " + line.job, patience_ms);
  if (!answer) {
    std::cerr << "tidegate scale: " << answer.error().message() << "\n";
    return exit_code::job_failed;
  }
  constexpr std::string_view error = "error ";
  if (answer->starts_with(error)) {
    std::cerr << "tidegate scale: " << answer->substr(error.size()) << "\n";
    return exit_code::job_failed;
  }
  std::cout << line.workers << (line.workers == 1 ? " worker is" : " workers are")
            << " wanted; events.jsonl says who joins and leaves, and at which clock\n";
  return exit_code::done;
}

}  // namespace tidegate::launch
