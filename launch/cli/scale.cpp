#include "launch/cli/scale.hpp"

#include <iostream>

#include "launch/run/control_socket.hpp"

namespace tidegate::launch {

namespace {

bool ask(const std::string& run_dir, const std::string& request) {
  // A coordinator may have to come back first, or the launcher be stopped.
  const auto answer = ask_launcher(run_dir, request, [&] {
    std::cerr << "tidegate scale: waiting for the launcher in " << run_dir
              << " to answer (Ctrl-C ends the waiting, not the run)\n";
  });
  constexpr std::string_view error = "error ";
  if (answer && !answer->starts_with(error)) return true;
  std::cerr << "tidegate scale: "
            << (answer ? answer->substr(error.size()) : answer.error().message()) << "\n";
  return false;
}

void tell(std::uint32_t number, const char* of) {
  std::cout << number << " " << of << (number == 1 ? " is" : "s are") << " wanted; ";
}

}  // namespace

exit_code scale_run(const command_line& line) {
  if (line.shards > 0) {
    if (!ask(line.file, "shards " + std::to_string(line.shards))) return exit_code::job_failed;
    tell(line.shards, "shard");
    std::cout << "events.jsonl says which move, and when they have\n";
  }
  if (line.workers > 0) {
    if (!ask(line.file, "scale " + std::to_string(line.workers) + " " + line.job))
      return exit_code::job_failed;
    tell(line.workers, "worker");
    std::cout << "events.jsonl says who joins and leaves, and at which clock\n";
  }
  return exit_code::done;
}

}  // namespace tidegate::launch
