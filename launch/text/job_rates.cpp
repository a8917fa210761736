#include "launch/text/job_rates.hpp"

#include <algorithm>

namespace tidegate::launch {

namespace {

constexpr double ns = 1e-9;
// Polls come more often than rates change to the eye.
constexpr std::int64_t pause_ns = 400'000'000;

// Members ascend in rank.
const policies::worker_status* find(const std::vector<policies::worker_status>& members,
                                    std::uint32_t rank) {
  const auto at =
      std::lower_bound(members.begin(), members.end(), rank,
                       [](const auto& member, std::uint32_t key) { return member.rank < key; });
  return at == members.end() || at->rank != rank ? nullptr : &*at;
}

bool has_reported(const policies::worker_status& worker) {
  return worker.times.elapsed_ns > 0;
}

// Returns true if `before` is of the same process, and nothing has begun anew since.
bool goes_on(const policies::worker_status& before, const policies::worker_status& now) {
  const auto& a = before.arrivals;
  const auto& b = now.arrivals;
  return before.incarnation == now.incarnation && has_reported(before) &&
         before.clock <= now.clock && before.samples <= now.samples &&
         before.times.elapsed_ns <= now.times.elapsed_ns &&
         before.times.call_ns <= now.times.call_ns &&
         before.times.wait_ns <= now.times.wait_ns && a.clocks <= b.clocks &&
         a.last <= b.last && a.late_ns <= b.late_ns;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

// The newest takes the place of one that is not much older.
void rate_window::add(std::int64_t now, const policies::job_status& job) {
  // A worker that has said nothing yet is at no clock.
  const auto is_silent = [](const policies::worker_status& worker) {
    return !worker.finished && !has_reported(worker);
  };
  if (samples_.empty() && std::ranges::any_of(job.members, is_silent)) return;
  if (samples_.size() > 1 && now - samples_[samples_.size() - 2].at < pause_ns)
    samples_.pop_back();
  samples_.push_back({.at = now, .clock = job.clock_slowest, .members = job.members});
  while (samples_.size() > 2 && now - samples_[1].at >= length_ns) samples_.pop_front();
  // A job that has gone back begins anew.
  while (samples_.size() > 1 && samples_.front().clock > job.clock_slowest)
    samples_.pop_front();
}

job_rates rate_window::rates() const {
  job_rates all;
  if (samples_.size() < 2) return all;
  const auto& first = samples_.front();
  const auto& last = samples_.back();
  all.seconds = static_cast<double>(last.at - first.at) * ns;
  if (all.seconds <= 0) return {};
  all.clocks_per_second = static_cast<double>(last.clock - first.clock) / all.seconds;
  for (const auto& member : last.members) {
    all.workers.push_back(rates_of(member));
    all.samples_per_second += all.workers.back().samples_per_second;
  }
  return all;
}

worker_rates rate_window::rates_of(const policies::worker_status& now) const {
  worker_rates of{.rank = now.rank};
  for (const auto& sample : samples_) {
    const auto* before = find(sample.members, now.rank);
    if (before == nullptr || !goes_on(*before, now) || &sample == &samples_.back()) continue;
    const auto seconds = static_cast<double>(samples_.back().at - sample.at) * ns;
    if (seconds <= 0) break;
    of.clocks_per_second = static_cast<double>(now.clock - before->clock) / seconds;
    of.samples_per_second = static_cast<double>(now.samples - before->samples) / seconds;
    const auto elapsed = now.times.elapsed_ns - before->times.elapsed_ns;
    const auto calls = now.times.call_ns - before->times.call_ns;
    const auto waits = now.times.wait_ns - before->times.wait_ns;
    of.calls = std::min(share(calls, elapsed), 1.0);
    of.waits = std::min(share(waits, elapsed), 1.0 - of.calls);
    of.computes = elapsed == 0 ? 0 : 1.0 - of.calls - of.waits;
    const auto last = now.arrivals.last - before->arrivals.last;
    of.comes_last = share(last, now.arrivals.clocks - before->arrivals.clocks);
    of.late_seconds = share(now.arrivals.late_ns - before->arrivals.late_ns, last) * ns;
    break;
  }
  return of;
}

}  // namespace tidegate::launch
