// A file of spans, as the launcher of a run leaves it, as a trace. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "launch/trace/trace_text.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Files of spans in a run folder: those that were asked for last; of the last time that
// something hung; of the end of the run, where it was asked for; and of each job that has
// failed.
inline constexpr const char* spans_asked = "spans.jsonl";
inline constexpr const char* spans_hang = "spans-hang.jsonl";
inline constexpr const char* spans_end = "spans-end.jsonl";
std::string spans_failure(const std::string& job);
// Returns the path of the newest in a run folder; empty if it has none.
std::string newest_spans(const std::string& run_dir);
// Of each process, at most.
inline constexpr std::size_t spans_kept = std::size_t{1} << 14U;

struct written_trace {
  std::string cause;
  trace_summary summary;
};
// Writes `to`, as write_file_atomically does, unless nothing is in the trace. Errors:
// not_found, io_error, invalid_argument (no file of spans, or of another version).
runtime::expected<written_trace> write_trace(const std::string& spans, const std::string& to,
                                             const std::optional<clock_range>& clocks);

// "31,245 spans of 6 processes, clocks 402 to 431 of job mlp".
std::string to_text(const trace_summary& summary);

}  // namespace tidegate::launch
