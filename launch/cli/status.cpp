#include "launch/cli/status.hpp"

#include <iostream>
#include <string>

#include "launch/run/control_socket.hpp"
#include "launch/run/run_status.hpp"
#include "launch/text/files.hpp"

namespace tidegate::launch {

namespace {

constexpr const char* program = "tidegate status: ";

// Of the launcher, or of the result that it has left.
runtime::expected<std::string> ask(const std::string& run_dir) {
  auto answer = ask_launcher(run_dir, "status", [&] {
    std::cerr << program << "waiting for the launcher in " << run_dir << " to answer\n";
  });
  if (answer) return answer;
  auto result = read_file(run_dir + "/result.json");
  if (result) return status_of_result(*result);
  return runtime::fail(answer.error().code(),
                       answer.error().message() + ", and no result is there");
}

}  // namespace

exit_code show_status(const command_line& line) {
  const auto answer = ask(line.file);
  if (!answer) {
    std::cerr << program << answer.error().message() << "\n";
    return exit_code::job_failed;
  }
  const auto text = status_text(*answer);
  if (!text) {
    std::cerr << program << text.error().message() << "\n";
    return exit_code::job_failed;
  }
  std::cout << (line.json ? *answer + "\n" : *text);
  return exit_code::done;
}

}  // namespace tidegate::launch
