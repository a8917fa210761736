// A file of spans, as the launcher of a run leaves it, as a trace. Any thread.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "launch/trace/trace_text.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Files of spans in a run folder: those that were asked for last; of the last job that has
// failed; of the last time that something hung; of the end of the run, where it was asked for.
inline constexpr const char* spans_asked = "spans.jsonl";
inline constexpr const char* spans_failure = "spans-failure.jsonl";
inline constexpr const char* spans_hang = "spans-hang.jsonl";
inline constexpr const char* spans_end = "spans-end.jsonl";
// Of each process, at most.
inline constexpr std::size_t spans_kept = std::size_t{1} << 14U;
inline constexpr std::array spans_files{spans_asked, spans_failure, spans_hang, spans_end};

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
