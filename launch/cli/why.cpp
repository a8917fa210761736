#include "launch/cli/why.hpp"

#include <fstream>
#include <iostream>
#include <string>

#include "launch/run/attribution.hpp"

namespace tidegate::launch {

namespace {

exit_code fail(const std::string& why) {
  std::cerr << "tidegate why: " << why << "\n";
  return exit_code::job_failed;
}

}  // namespace

exit_code explain(const command_line& line) {
  metrics_record record;
  // The first is there where the other has grown too large.
  for (const auto* name : {"/metrics.1.jsonl", "/metrics.jsonl"}) {
    std::ifstream lines(line.file + name);
    if (auto read = record.read(lines); !read.ok()) return fail(read.message());
  }
  auto jobs = record.jobs();
  if (!line.job.empty()) jobs = {line.job};
  if (jobs.empty())
    return fail(line.file +
                " has no metrics.jsonl, or nothing is in it: a job that runs writes "
                "a line after about two seconds");
  const attribution_range range{.clock = line.clock,
                                .last_clocks = line.last_clocks.value_or(0)};
  for (const auto& job : jobs) {
    const auto found = record.attribute(job, range);
    if (!found) return fail(found.error().message());
    std::cout << (line.json ? attribution_json(*found) + "\n" : attribution_text(*found));
  }
  return exit_code::done;
}

}  // namespace tidegate::launch
