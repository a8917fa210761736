#include "policies/supervision/progress_watchdog.hpp"

#include <algorithm>
#include <utility>

namespace tidegate::policies {

namespace {

std::vector<std::uint64_t> marks_of(const job_status& job) {
  return {static_cast<std::uint64_t>(job.state),
          job.clock_slowest,
          job.clock_fastest,
          job.samples,
          job.workers_joined,
          job.workers_finished,
          job.checkpoints,
          job.restarts,
          job.changes.size()};
}

}  // namespace

std::vector<progress_watchdog::standstill> progress_watchdog::look(
    std::int64_t now, std::span<const job_status> jobs) {
  std::vector<standstill> found;
  for (const auto& job : jobs) {
    if (job.state != job_state::waiting && job.state != job_state::running) {
      jobs_.erase(job.name);
      continue;
    }
    auto marks = marks_of(job);
    auto& known = jobs_[job.name];
    if (known.marks != marks) {
      if (!known.marks.empty()) known.longest = std::max(known.longest, now - known.since);
      known.marks = std::move(marks);
      known.since = now;
      known.told_at = std::max(limit_ns, pauses * known.longest);
      continue;
    }
    const auto length = now - known.since;
    if (length < known.told_at) continue;
    found.push_back({.job = job.name, .for_ns = length});
    known.told_at = 2 * length;
  }
  return found;
}

}  // namespace tidegate::policies
