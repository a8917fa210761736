// Spans of processes as a trace that people look at: JSON of the Trace Event Format, which the
// user interface of Perfetto (ui.perfetto.dev) and chrome://tracing open. Each process has its
// row; arrows lead from a call that pushes over the shard that takes it and its step to the
// answer that the worker has of it. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/trace/process_spans.hpp"

namespace tidegate::launch {

// Clocks, both included.
struct clock_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

struct trace_summary {
  std::size_t spans = 0;
  std::size_t processes = 0;  // that have spans in it
  // By job: the first and the last clock in which a worker has called its session.
  std::map<std::string, clock_range> clocks;
};

// Returns the trace, and what is in it. `clocks`: what does not belong to these is left out, of
// each job.
std::pair<std::string, trace_summary> trace_text(const std::vector<process_spans>& of,
                                                 const std::optional<clock_range>& clocks);

}  // namespace tidegate::launch
