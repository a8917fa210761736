#include "policies/attribution/job_rates.hpp"

#include <algorithm>

namespace tidegate::policies {

namespace {

constexpr double ns = 1e-9;
// Polls come more often than rates change to the eye.
constexpr std::int64_t pause_ns = 400'000'000;

// Members ascend in rank.
const worker_status* find(const std::vector<worker_status>& members, std::uint32_t rank) {
  const auto at =
      std::lower_bound(members.begin(), members.end(), rank,
                       [](const auto& member, std::uint32_t key) { return member.rank < key; });
  return at == members.end() || at->rank != rank ? nullptr : &*at;
}

bool has_reported(const worker_status& worker) {
  return worker.times.elapsed_ns > 0;
}

bool goes_on(const rank_arrivals& before, const rank_arrivals& now) {
  return before.clocks <= now.clocks && before.last <= now.last &&
         before.late_ns <= now.late_ns;
}

bool goes_on(const shard_times& before, const shard_times& now) {
  return before.process == now.process && before.elapsed_ns < now.elapsed_ns &&
         before.busy_ns <= now.busy_ns && before.replica_ns <= now.replica_ns;
}

// Returns true if `before` is of the same process, and nothing has begun anew since.
bool goes_on(const worker_status& before, const worker_status& now) {
  return before.incarnation == now.incarnation && has_reported(before) &&
         before.clock <= now.clock && before.samples <= now.samples &&
         before.times.elapsed_ns <= now.times.elapsed_ns &&
         before.times.call_ns <= now.times.call_ns &&
         before.times.wait_ns <= now.times.wait_ns &&
         before.times.credit_ns <= now.times.credit_ns &&
         before.least_late_ns <= now.least_late_ns && goes_on(before.arrivals, now.arrivals);
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::uint64_t more(std::uint64_t before, std::uint64_t now) {
  return now - std::min(before, now);
}

// `elapsed`: nanoseconds between the two.
pressure_rates rates_of(const process_pressure& before, const process_pressure& now,
                        std::uint64_t elapsed) {
  return {.stopped = std::min(share(more(before.stopped_ns, now.stopped_ns), elapsed), 1.0),
          .starved = std::min(share(more(before.starved_ns, now.starved_ns), elapsed), 1.0),
          .disk_faults = share(more(before.disk_faults, now.disk_faults), elapsed) / ns,
          .memory = std::min(share(more(before.memory_ns, now.memory_ns), elapsed), 1.0)};
}

}  // namespace

// The newest takes the place of one that is not much older.
void rate_window::add(std::int64_t now, const job_status& job,
                      const std::vector<shard_times>& shards,
                      const std::vector<replica_status>& replicas) {
  // A worker that has said nothing yet is at no clock.
  const auto is_silent = [](const worker_status& worker) {
    return !worker.finished && !has_reported(worker);
  };
  if (samples_.empty() && std::ranges::any_of(job.members, is_silent)) return;
  if (samples_.size() > 1 && now - samples_[samples_.size() - 2].at < pause_ns)
    samples_.pop_back();
  samples_.push_back({.at = now,
                      .clock = job.clock_slowest,
                      .members = job.members,
                      .answers = job.answers,
                      .waited_ns = job.waited_ns,
                      .shards = shards,
                      .replicas = replicas,
                      .checkpointing = job.checkpointing});
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
  for (std::size_t shard = 0; shard < last.shards.size(); ++shard)
    all.shards.push_back(rates_of_shard(shard));
  for (const auto& replica : last.replicas) all.replicas.push_back(rates_of_replica(replica));
  if (first.checkpointing.count < last.checkpointing.count) {
    all.checkpoint = last.checkpointing;
    all.checkpoint->late_ns = more(first.checkpointing.late_ns, last.checkpointing.late_ns);
  }
  return all;
}

worker_rates rate_window::rates_of(const worker_status& now) const {
  worker_rates of{.rank = now.rank};
  for (const auto& sample : samples_) {
    const auto* before = find(sample.members, now.rank);
    if (before == nullptr || !goes_on(*before, now) || &sample == &samples_.back()) continue;
    const auto seconds = static_cast<double>(samples_.back().at - sample.at) * ns;
    if (seconds <= 0) break;
    of.clocks = static_cast<double>(now.clock - before->clock);
    of.clocks_per_second = of.clocks / seconds;
    of.samples_per_second = static_cast<double>(now.samples - before->samples) / seconds;
    const auto elapsed = now.times.elapsed_ns - before->times.elapsed_ns;
    const auto calls = now.times.call_ns - before->times.call_ns;
    const auto waits = now.times.wait_ns - before->times.wait_ns;
    of.seconds = static_cast<double>(elapsed) * ns;
    of.calls = std::min(share(calls, elapsed), 1.0);
    of.waits = std::min(share(waits, elapsed), 1.0 - of.calls);
    of.computes = elapsed == 0 ? 0 : 1.0 - of.calls - of.waits;
    of.credits =
        std::min(share(now.times.credit_ns - before->times.credit_ns, elapsed), of.waits);
    of.garbage = std::min(share(more(before->times.garbage_ns, now.times.garbage_ns), elapsed),
                          of.computes);
    of.pressure = policies::rates_of(before->times.pressure, now.times.pressure, elapsed);
    const auto last = now.arrivals.last - before->arrivals.last;
    of.comes_last = share(last, now.arrivals.clocks - before->arrivals.clocks);
    of.late_seconds = share(now.arrivals.late_ns - before->arrivals.late_ns, last) * ns;
    of.late = static_cast<double>(now.least_late_ns - before->least_late_ns) * ns;
    break;
  }
  return of;
}

// What workers saw of it and what its process says may begin at different samples: either may
// have come anew.
shard_rates rate_window::rates_of_shard(std::size_t shard) const {
  shard_rates of{.shard = static_cast<std::uint32_t>(shard)};
  const auto& newest = samples_.back();
  const auto answers = [&](const sample& from) {
    return shard < from.answers.size() ? from.answers[shard] : rank_arrivals();
  };
  for (const auto& sample : samples_) {
    const auto before = answers(sample);
    const auto now = answers(newest);
    // A coordinator that has come back has heard no answers at first.
    if (&sample == &newest || sample.answers.empty() || !goes_on(before, now)) continue;
    of.answers_last = share(now.last - before.last, now.clocks - before.clocks);
    of.late_seconds = share(now.late_ns - before.late_ns, now.last - before.last) * ns;
    break;
  }
  const auto waited = [&](const sample& from) {
    return shard < from.waited_ns.size() ? from.waited_ns[shard] : 0;
  };
  for (const auto& sample : samples_) {
    if (&sample == &newest || waited(sample) > waited(newest)) continue;
    of.waits = static_cast<double>(waited(newest) - waited(sample)) * ns;
    break;
  }
  add_process_rates(
      [&](const sample& from) {
        return shard < from.shards.size() ? &from.shards[shard] : nullptr;
      },
      of);
  return of;
}

template <class TimesIn>
void rate_window::add_process_rates(const TimesIn& times_in, shard_rates& to) const {
  const auto& now = *times_in(samples_.back());
  for (const auto& sample : samples_) {
    const shard_times* before = times_in(sample);
    if (&sample == &samples_.back() || before == nullptr || before->elapsed_ns == 0 ||
        !goes_on(*before, now))
      continue;
    const auto elapsed = now.elapsed_ns - before->elapsed_ns;
    to.seconds = static_cast<double>(elapsed) * ns;
    to.busy = std::min(share(now.busy_ns - before->busy_ns, elapsed), 1.0);
    to.replica = std::min(share(now.replica_ns - before->replica_ns, elapsed), 1.0);
    to.bytes_in_per_second = share(more(before->bytes_in, now.bytes_in), elapsed) / ns;
    to.bytes_out_per_second = share(more(before->bytes_out, now.bytes_out), elapsed) / ns;
    to.resident_bytes = now.resident_bytes;
    to.pushes_held = now.pushes_held;
    to.in_place = now.bytes_in > 0 && now.bytes_out == 0;
    to.pressure = policies::rates_of(before->pressure, now.pressure, elapsed);
    break;
  }
}

replica_rates rate_window::rates_of_replica(const replica_status& now) const {
  shard_rates of;
  add_process_rates(
      [&](const sample& from) -> const shard_times* {
        const auto at = std::ranges::find_if(from.replicas, [&](const replica_status& each) {
          return each.shard == now.shard && each.name == now.name;
        });
        return at == from.replicas.end() ? nullptr : &at->times;
      },
      of);
  return {.shard = now.shard,
          .process = now.name.to_string(),
          .seconds = of.seconds,
          .busy = of.busy,
          .bytes_in_per_second = of.bytes_in_per_second,
          .resident_bytes = now.times.resident_bytes,
          .pressure = of.pressure};
}

}  // namespace tidegate::policies
