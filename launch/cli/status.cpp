#include "launch/cli/status.hpp"

#include <iostream>

#include "launch/run/read_status.hpp"
#include "launch/run/run_status.hpp"

namespace tidegate::launch {

exit_code show_status(const command_line& line) {
  constexpr const char* program = "tidegate status: ";
  const auto answer = read_status(line.file, [&] {
    std::cerr << program << "waiting for the launcher in " << line.file << " to answer\n";
  });
  const auto text = answer ? status_text(*answer) : answer;
  if (!text) {
    std::cerr << program << text.error().message() << "\n";
    return exit_code::job_failed;
  }
  std::cout << (line.json ? *answer + "\n" : *text);
  return exit_code::done;
}

}  // namespace tidegate::launch
