#include "launch/cli/scale.hpp"

#include <iostream>

#include "launch/cli/request.hpp"

namespace tidegate::launch {

namespace {

void tell(std::uint32_t number, const char* of) {
  std::cout << number << " " << of << (number == 1 ? " is" : "s are") << " wanted; ";
}

}  // namespace

exit_code scale_run(const command_line& line) {
  if (line.shards > 0) {
    if (!ask_of_run("scale", line.file, "shards " + std::to_string(line.shards)))
      return exit_code::job_failed;
    tell(line.shards, "shard");
    std::cout << "events.jsonl says which move, and when they have\n";
  }
  if (line.workers > 0) {
    if (!ask_of_run("scale", line.file,
                    "scale " + std::to_string(line.workers) + " " + line.job))
      return exit_code::job_failed;
    tell(line.workers, "worker");
    std::cout << "events.jsonl says who joins and leaves, and at which clock\n";
  }
  return exit_code::done;
}

}  // namespace tidegate::launch
