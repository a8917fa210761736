// What a page shows of the other files of a run folder, as lines of JSON without their ends:
// events, the ends of logs, and whom a job waits for. Each reads a bounded part of a
// file, whatever its size. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Returns {"next", "skipped", "events": [{"unix_ns", "kind", "detail"}]} of events.jsonl: those
// from byte `since` on, and of many the last 500. "next" is the `since` of the next call;
// "skipped": there were others before these. Empty for a file that is not there. Errors:
// io_error.
runtime::expected<std::string> events_json(const std::string& run_dir, std::uint64_t since);

// Returns {"processes": [names]} of those that have logs.
std::string log_names_json(const std::string& run_dir);
// Returns {"process", "bytes", "text"}: the last lines of its log, 200 and 64 KiB at most, and
// how many bytes there are. Errors: not_found (no process of that name has a log).
runtime::expected<std::string> log_json(const std::string& run_dir, std::string_view process);

// Returns {"jobs": [{"job", "seconds", "first_clock", "last_clock", "reasons": [sentences],
// "ranks", "shards"}]} of so many of the last lines of metrics.jsonl, of 2 MiB at most, for
// each of so many jobs. A file that cannot be read has no jobs.
std::string reasons_json(const std::string& run_dir, std::size_t lines, std::size_t jobs);

}  // namespace tidegate::launch
