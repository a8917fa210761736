// result.json, pids.json and the lines of events.jsonl. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/plan.hpp"
#include "policies/cluster_status.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// What was not reported, and numbers that JSON cannot hold (NaN), are null.
std::string result_json(const std::string& cluster,
                        const std::vector<policies::job_status>& jobs, int exit_code);

// What a result.json ends with; none: it is not one.
std::optional<int> exit_code_of(const std::string& result_json);

// `{"unix_ns": ..., "time": "2026-01-31T12:00:00.123Z", "what": ..., "detail": ...}` and a
// newline.
std::string event_line(const policies::cluster_event& event);

struct live_process {
  process_name name;
  int pid = -1;
};

std::string pids_json(const std::vector<live_process>& processes);
// What pids_json wrote. Errors: corrupt.
runtime::expected<std::vector<live_process>> parse_pids(const std::string& text);

}  // namespace tidegate::launch
