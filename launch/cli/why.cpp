#include "launch/cli/why.hpp"

#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "launch/run/attribution.hpp"

namespace tidegate::launch {

namespace {

exit_code fail(const std::string& why) {
  std::cerr << "tidegate why: " << why << "\n";
  return exit_code::job_failed;
}

// The file before it is there where the file has grown too large.
std::string lines_of(const std::string& run_dir) {
  std::ostringstream lines;
  for (const auto* name : {"/metrics.1.jsonl", "/metrics.jsonl"}) {
    const std::ifstream file(run_dir + name, std::ios::binary);
    if (file && file.rdbuf()->in_avail() != 0) lines << file.rdbuf();
  }
  return std::move(lines).str();
}

}  // namespace

exit_code explain(const command_line& line) {
  const auto lines = lines_of(line.file);
  auto jobs = jobs_of_metrics(lines);
  if (!line.job.empty()) jobs = {line.job};
  if (jobs.empty())
    return fail(line.file +
                " has no metrics.jsonl, or nothing is in it: a job writes it while "
                "it runs, from its second second on");
  const attribution_range range{.clock = line.clock,
                                .last_clocks = line.last_clocks.value_or(0)};
  for (const auto& job : jobs) {
    const auto found = attribute(lines, job, range);
    if (!found) return fail(found.error().message());
    std::cout << (line.json ? attribution_json(*found) + "\n" : attribution_text(*found));
  }
  return exit_code::done;
}

}  // namespace tidegate::launch
