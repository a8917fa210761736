// What the launcher's own terminal shows of its run: jobs with a bar, who holds them up,
// workers and shards, as `tidegate top` does. Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "launch/run/attribution.hpp"
#include "launch/run/run_metrics.hpp"
#include "launch/run/run_status.hpp"
#include "launch/screen/run_lines.hpp"

namespace tidegate::launch {

// Adds the sentences about a job, and the shards that they name.
void add_reasons(const job_attribution& of, run_content& to);

struct terminal_size {
  std::size_t columns = 0;
  std::size_t rows = 0;  // 0: output goes elsewhere, or it has not said
};

// Returns false where a line for each job is all there is room for.
bool has_room_for_screen(const terminal_size& of) noexcept;

// Returns the lines, which leave half of the terminal to what is printed above them. Asserts
// has_room_for_screen(). `has_color`: as ansi_text().
std::vector<std::string> screen_lines(const run_view& run, const run_metrics& metrics,
                                      const terminal_size& on, bool has_color);

}  // namespace tidegate::launch
