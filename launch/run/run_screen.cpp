#include "launch/run/run_screen.hpp"

#include <algorithm>

#include "launch/screen/ansi_text.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::launch {

namespace {

constexpr std::size_t columns_least = 40;
constexpr std::size_t rows_least = 16;
constexpr std::size_t rows_most = 24;

}  // namespace

void add_reasons(const job_attribution& of, run_content& to) {
  for (const auto& reason : reasons_text(of))
    to.reasons.push_back("job " + of.job + ": " + reason);
  for (const auto& each : of.held_up)
    if (each.kind == policies::held_up_by::party::shard) to.late_shards.push_back(each.number);
}

bool has_room_for_screen(const terminal_size& of) noexcept {
  return of.columns >= columns_least && of.rows >= rows_least;
}

// A line that fills the last column would begin the next one.
std::vector<std::string> screen_lines(const run_view& run, const run_metrics& metrics,
                                      const terminal_size& on, bool has_color) {
  TIDEGATE_ASSERT(has_room_for_screen(on), "it has room");
  run_content content{.status = status_line(run)};
  for (const auto& job : run.jobs) {
    const auto periods = metrics.last_periods(job.status.name);
    if (!periods.empty()) add_reasons(attribution_of(job.status.name, periods), content);
  }
  screen_size size{.columns = on.columns - 1, .rows = std::min(on.rows / 2, rows_most)};
  const auto lines = run_lines(content, size);
  TIDEGATE_ASSERT(lines, "status_line() is the status of a run");
  std::vector<std::string> all;
  for (const auto& line : *lines) all.push_back(ansi_text(line, has_color));
  return all;
}

}  // namespace tidegate::launch
