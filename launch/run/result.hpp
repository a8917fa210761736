// result.json and the lines of events.jsonl. Pure, any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launch/plan/plan.hpp"
#include "policies/model/cluster_status.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// What was not reported, and numbers that JSON cannot hold (NaN), are null.
std::string result_json(const std::string& cluster,
                        const std::vector<policies::job_status>& jobs, int exit_code);

// What a result.json ends with; none: it is not one.
std::optional<int> exit_code_of(const std::string& result_json);

// `{"unix_ns": ..., "time": "2026-01-31T12:00:00.123Z", "kind": ..., "detail": ...,
// "process": ..., "job": ..., "rank": ..., "clock": ..., "cause": ...}` and a
// newline. The time is `not_before` at least; an event that happened earlier has a
// "happened_ns", too.
std::string event_line(const policies::cluster_event& event, std::int64_t not_before = 0);
// The "unix_ns" of a line; 0 without such a field.
std::int64_t event_time_of(const std::string& line);

}  // namespace tidegate::launch
