// result.json, pids.json, launcher.json and the lines of events.jsonl. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/plan/plan.hpp"
#include "launch/shell/live_process.hpp"
#include "policies/launcher/leftover.hpp"
#include "policies/model/cluster_status.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// What was not reported, and numbers that JSON cannot hold (NaN), are null.
std::string result_json(const std::string& cluster,
                        const std::vector<policies::job_status>& jobs, int exit_code);

// What a result.json ends with; none: it is not one.
std::optional<int> exit_code_of(const std::string& result_json);

// `{"unix_ns": ..., "time": "2026-01-31T12:00:00.123Z", "what": ..., "detail": ...}` and a
// newline. The time is `not_before` at least; an event that happened earlier has a
// "happened_ns", too.
std::string event_line(const policies::cluster_event& event, std::int64_t not_before = 0);
// The "unix_ns" of a line; 0 without such a field.
std::int64_t event_time_of(const std::string& line);

std::string launcher_json(const policies::launcher_mark& mark);
// What launcher_json wrote. Errors: corrupt.
runtime::expected<policies::launcher_mark> parse_launcher(const std::string& text);

std::string pids_json(const std::vector<live_process>& processes);
// What pids_json wrote. Errors: corrupt.
runtime::expected<std::vector<live_process>> parse_pids(const std::string& text);

}  // namespace tidegate::launch
