#include "launch/cli/stop.hpp"

#include <iostream>
#include <sys/stat.h>

#include "launch/run/control_socket.hpp"
#include "launch/run/patience.hpp"
#include "launch/run/run_status.hpp"
#include "launch/text/files.hpp"
#include "launch/text/printable.hpp"

namespace tidegate::launch {

namespace {

// From the end of the connection to that of the launcher.
constexpr std::uint32_t lock_wait_ms = 10'000;

exit_code not_stopped(const std::string& why) {
  std::cerr << "tidegate stop: " << why << "\n";
  return exit_code::job_failed;
}

}  // namespace

exit_code stop_run(const command_line& line) {
  if (!has_launcher(line.file)) return not_stopped("no launcher lives in " + line.file);
  // The launcher never answers: its end closes the connection.
  const auto answer = ask_launcher(line.file, line.now ? "stop now" : "stop", [&] {
    std::cerr << "tidegate stop: waiting for the run in " << line.file
              << " to end (Ctrl-C ends the waiting, not the stop)\n";
  });
  if (answer)
    return not_stopped("the launcher in " + line.file + " says: " + printable(*answer));
  if (has_launcher(line.file)) return not_stopped(answer.error().message());  // another user's
  // So that whoever goes on with the run finds its folder free. A lock that cannot be had, or
  // looked at, is theirs to tell.
  (void)lock_as_launcher(line.file, S_IRUSR | S_IWUSR, lock_wait_ms);
  const auto result = read_file(line.file + "/result.json");
  const auto status = result ? status_of_result(*result) : result;
  const auto text = status ? status_text(*status) : status;
  if (!text)
    return not_stopped("the launcher has ended and left no result: " + text.error().message());
  std::cout << *text;
  return exit_code::done;
}

}  // namespace tidegate::launch
