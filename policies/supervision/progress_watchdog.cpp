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

void progress_watchdog::state::learn(std::int64_t pause) {
  usual = std::max(usual, std::min(pause, longest));
  longest = std::max(longest, pause);
}

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
      if (known.is_running) known.learn(now - known.since);
      known.is_running = job.state == job_state::running;
      known.marks = std::move(marks);
      known.since = now;
      known.told_at = std::max(limit_ns, pauses * known.usual);
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
