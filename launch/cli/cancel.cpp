#include "launch/cli/cancel.hpp"

#include <iostream>

#include "launch/cli/request.hpp"

namespace tidegate::launch {

exit_code cancel_job(const command_line& line) {
  if (!ask_of_run("cancel", line.file, "cancel " + line.job)) return exit_code::job_failed;
  std::cout << (line.job.empty() ? "the job" : "job " + line.job) << " is cancelled\n";
  return exit_code::done;
}

}  // namespace tidegate::launch
