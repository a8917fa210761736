#include "launch/cli/trace.hpp"

#include <iostream>

#include "launch/cli/run_spans.hpp"
#include "launch/text/files.hpp"
#include "launch/text/printable.hpp"
#include "launch/trace/write_trace.hpp"

namespace tidegate::launch {

namespace {

exit_code not_traced(const std::string& why) {
  std::cerr << "tidegate trace: " << why << "\n";
  return exit_code::job_failed;
}

}  // namespace

exit_code trace_run(const command_line& line) {
  const auto to = line.output.empty() ? line.file + "/trace.json" : line.output;
  if (!line.output.empty() && !may_write_beside(to))
    return not_traced(to +
                      " cannot be written: there is no such folder, or nobody may write there");
  const auto spans = find_spans(line, "trace");
  if (!spans) return not_traced(spans.error().message());
  const auto written = write_trace(*spans, to, line.clocks);
  if (!written) return not_traced(written.error().message());
  if (written->summary.spans == 0) return not_traced(no_spans_text(line));
  if (!written->cause.empty()) std::cout << printable(written->cause) << "\n";
  std::cout << to << ": " << to_text(written->summary)
            << "\nopen it at https://ui.perfetto.dev or chrome://tracing\n";
  return exit_code::done;
}

}  // namespace tidegate::launch
