#include "launch/trace/write_trace.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "launch/text/files.hpp"
#include "launch/text/printable.hpp"
#include "launch/text/progress_text.hpp"

namespace tidegate::launch {

std::string spans_failure(const std::string& job) {
  return "spans-failure-" + job + ".jsonl";
}

std::string newest_spans(const std::string& run_dir) {
  std::error_code error;
  std::string newest;
  std::filesystem::file_time_type written{};
  for (std::filesystem::directory_iterator at(run_dir, error), end; !error && at != end;
       at.increment(error)) {
    const auto name = at->path().filename().string();
    if (!name.starts_with("spans") || !name.ends_with(".jsonl")) continue;
    std::error_code unseen;
    const auto time = at->last_write_time(unseen);
    if (unseen || (!newest.empty() && time < written)) continue;
    newest = at->path().string();
    written = time;
  }
  return newest;
}

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
    text += ", clocks " + grouped(clocks.first) + " to " + grouped(clocks.last) + " of job " +
            printable(job);
  return text;
}

}  // namespace tidegate::launch
