// A run as lines for a screen of any size, of `tidegate top` and of its launcher: what matters
// most comes first, and what there is no room for is left out. Pure, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launch/screen/styled_text.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

// Returns the line's text without its styles.
std::string plain_text(const styled_line& line);

struct run_content {
  std::string status;                // as status_line()
  std::vector<std::string> reasons;  // which workers and shards the jobs wait for, and why
  std::vector<std::string> events;   // the newest last
  double age_seconds = 0;            // of the status; 0: it is of now
  std::vector<std::uint64_t> late_shards = {};  // those of the reasons
};

struct screen_size {
  std::size_t columns = 80;
  std::size_t rows = 24;
  std::size_t first_worker = 0;  // that is shown, where not all have room
  bool by_lateness = false;      // workers whose pushes come last come first
};

// Returns screen.rows lines at most, each of screen.columns characters at most. Where fewer
// workers are left than from screen.first_worker on, that becomes less. Errors: corrupt (the
// content has no status of a run).
runtime::expected<std::vector<styled_line>> run_lines(const run_content& content,
                                                      screen_size& screen);

// Returns how many jobs a status has; 0 of anything else.
std::size_t jobs_of(const std::string& status_line);

// "13:02:11 worker_lost job rank 1: ..." of a line of events.jsonl; empty of anything else.
std::string event_text(const std::string& line);

}  // namespace tidegate::launch
