// What the coordinator tells of itself.
#include <algorithm>
#include <vector>

#include "policies/consistency/consistency.hpp"
#include "policies/coordinator/core.hpp"
#include "runtime/base/limits.hpp"

namespace tidegate::policies {

namespace limits = runtime::limits;

namespace {

using coordination::job_record;

// Returns the clock of the slowest worker. Reports are some milliseconds old, each by another
// amount: the fastest could not be where it is had the others, that run, not come within the
// policy's reach.
std::uint64_t slowest_clock(const job_record& job) {
  constexpr auto reach = limits::clocks_in_flight_max;
  auto of_running = clock_vector::infinity, of_finished = clock_vector::infinity;
  std::uint64_t fastest = 0;
  for (const auto& worker : job.workers) {
    if (worker.absent) continue;
    auto& slowest = worker.finished ? of_finished : of_running;
    slowest = std::min(slowest, worker.last.clock);
    // Of a worker that joins nothing is known but where it will begin.
    if (worker.last.times.elapsed_ns > 0) fastest = std::max(fastest, worker.last.clock);
  }
  const bool is_bound = traits_of(job.spec.consistency.kind).has_exact_versions;
  if (is_bound && of_running != clock_vector::infinity && fastest > reach)
    of_running = std::max(of_running, fastest - reach);
  return std::min(of_running, of_finished);
}

void sum_up(const job_record& job, job_status& shown) {
  auto slowest = clock_vector::infinity;  // as reported
  double losses = 0;
  double stay = 0;
  for (const auto& worker : job.workers) {
    if (!worker.has_been()) continue;
    if (!worker.absent) {
      shown.workers_joined += worker.joined ? 1 : 0;
      shown.workers_finished += worker.finished ? 1 : 0;
      if (worker.last.clock < slowest) shown.epoch = worker.last.epoch;
      slowest = std::min(slowest, worker.last.clock);
      losses += worker.last.loss;
      ++stay;
    }
    shown.clock_fastest = std::max(shown.clock_fastest, worker.last.clock);
    shown.clocks_total = std::max(shown.clocks_total, worker.last.clocks_total);
    shown.samples += worker.last.samples;
    shown.staleness_max =
        std::max({shown.staleness_max, worker.staleness_max, worker.last.staleness_max});
    // What a member says is as long as it likes.
    const auto& stale = worker.last.staleness;
    for (std::size_t range = 0; range < std::min(stale.size(), shown.staleness.size()); ++range)
      shown.staleness[range] += stale[range];
    shown.payload_bytes_copied +=
        worker.payload_bytes_copied + worker.last.payload_bytes_copied;
  }
  shown.clock_slowest = slowest_clock(job);
  shown.loss = losses / stay;
}

void add_replicas(const coordination::coordinator_state& state, std::uint32_t shard,
                  std::vector<replica_status>& to) {
  const auto& chain = state.replicas[shard];
  const auto& slots = state.mover.slots();
  for (const auto& place : chain.chain()) {
    const auto reported = state.followers.find({shard, place.member});
    if (place.member == chain.primary() || reported == state.followers.end() ||
        reported->second.incarnation != chain.incarnation(place.member))
      continue;
    to.push_back({.shard = shard,
                  .name = name_of(slots.process_of(shard, place.member), slots.shards()),
                  .times = reported->second.times});
  }
}

}  // namespace

cluster_status coordinator_core::status(std::int64_t now, std::uint64_t events_seen) const {
  cluster_status all;
  all.epoch = state_.epoch;
  all.incarnation = state_.incarnation;
  for (std::uint32_t shard = 0; shard < state_.replicas.groups().size(); ++shard) {
    const auto& group = state_.replicas[shard];
    all.shards_joined += group.is_complete() ? 1 : 0;
    all.replicas_in_sync += group.replicas_in_sync();
    if (group.is_lost() && all.lost.empty())
      all.lost = "shard " + std::to_string(shard) +
                 " has lost its primary, and there is no replica that has everything";
  }
  for (const auto& job : state_.jobs) {
    auto& shown = all.jobs.emplace_back();
    shown.name = job.spec.name;
    shown.policy = to_string(job.spec.consistency);
    shown.state = job.state;
    shown.failure = job.failure;
    shown.metrics = job.metrics;
    shown.restarts = job.restarts;
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank) {
      const auto& worker = job.workers[rank];
      if (!worker.absent && worker.finished) shown.ranks_finished.push_back(rank);
      shown.incarnations.push_back(worker.incarnation);
    }
    for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
      if (const auto& worker = job.workers[rank]; worker.has_been())
        shown.members.push_back({.rank = rank,
                                 .incarnation = worker.incarnation,
                                 .joined = worker.joined,
                                 .finished = worker.finished,
                                 .clock = worker.last.clock,
                                 .samples = worker.last.samples,
                                 .times = worker.last.times,
                                 .arrivals = worker.arrivals,
                                 .least_late_ns = job.aggregators.empty()
                                                      ? job.late.least_late_ns(rank)
                                                      : worker.arrivals.late_ns});
    constexpr std::int64_t told_ns = 5'000'000'000;
    if (now < job.latest_at + told_ns) shown.latest = job.latest;
    shown.workers = job.wanted;
    shown.answers = job.answers;
    for (std::size_t shard = 0; shard < state_.shards.size() && job.aggregators.empty();
         ++shard)
      shown.waited_ns.push_back(job.late.waited_ns(shard));
    shown.changes = job.changes;
    shown.checkpoints = job.checkpoints;
    shown.checkpoint_clock = job.checkpoint_clock;
    shown.checkpointing = job.round_times.times();
    shown.last_checkpoint = job.rounds && job.rounds->has_last();
    shown.parameters_sha256 = job.parameters_sha256;
    if (job.began != 0)
      shown.seconds =
          static_cast<double>((job.ended != 0 ? job.ended : now) - job.began) * 1e-9;
    sum_up(job, shown);
  }
  all.shards = state_.shards;
  for (std::uint32_t shard = 0; shard < state_.shards.size(); ++shard)
    add_replicas(state_, shard, all.replicas);
  all.waits = state_.waits.reported(now);
  all.condemned = state_.waits.condemned();
  all.events = state_.events.since(events_seen);
  return all;
}

}  // namespace tidegate::policies
