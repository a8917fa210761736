// Spans of a run by the process that noted them, from lines that say pieces of them. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launch/trace/process_spans.hpp"
#include "runtime/base/trace_span.hpp"

namespace tidegate::launch {

// The spans of an incarnation of a process, in order of time.
struct traced_process {
  std::string title;
  std::string writer;
  std::uint32_t incarnation = 1;
  bool is_cut = false;  // earlier spans are not here
  std::vector<runtime::trace_span> spans;
};

// Ascending in name and incarnation. Waits of workers have the clock of the call before them.
std::vector<traced_process> traced_processes(const std::vector<process_spans>& all);

// Returns the job of "worker-mlp-3"; empty: it is no worker's name.
std::string job_of(const std::string& writer);

}  // namespace tidegate::launch
