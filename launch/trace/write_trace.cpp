#include "launch/trace/write_trace.hpp"

#include <fstream>
#include <utility>

#include "launch/text/files.hpp"
#include "launch/text/progress_text.hpp"

namespace tidegate::launch {

runtime::expected<written_trace> write_trace(const std::string& spans, const std::string& to,
                                             const std::optional<clock_range>& clocks) {
  std::ifstream from(spans);
  if (!from) return runtime::fail(runtime::errc::not_found, "no " + spans + " can be read");
  auto file = read_spans(from);
  if (!file) return runtime::fail(file.error().code(), spans + ", " + file.error().message());
  auto [text, summary] = trace_text(file->processes, clocks);
  if (summary.spans > 0)
    if (auto written = write_file_atomically(to, text); !written.ok())
      return runtime::fail(std::move(written));
  return written_trace{.cause = std::move(file->cause), .summary = std::move(summary)};
}

std::string to_text(const trace_summary& summary) {
  auto text = grouped(summary.spans) + " spans of " + std::to_string(summary.processes) +
              (summary.processes == 1 ? " process" : " processes");
  for (const auto& [job, clocks] : summary.clocks)
    text +=
        ", clocks " + grouped(clocks.first) + " to " + grouped(clocks.last) + " of job " + job;
  return text;
}

}  // namespace tidegate::launch
