#include "policies/shard/join_barrier.hpp"

#include <algorithm>
#include <utility>

#include "policies/shard/state.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

void join_barrier::shut_out(std::uint64_t token, std::uint32_t rank) {
  auto* job = state_.registry.find_job(token, rank);
  if (!job) return;
  job->ranks[rank].shut_out = true;
  state_.admin.forget_process(*job, rank);
}

std::uint64_t join_barrier::pushed_below(std::uint64_t token, std::uint32_t rank) const {
  const auto* job = state_.registry.find_job(token, rank);
  if (!job) return 0;
  std::uint64_t first = 0;
  for (const auto slot : job->slots) first = std::max(first, state_.pushes.next(slot, rank));
  return first;
}

void join_barrier::begin_hold(const job_record& job, consistency_policy& policy) const {
  const auto held = holds_.find(job.token);
  if (held == holds_.end()) return;
  const auto [rank, clock] = held->second;
  const bool holds =
      clock != clock_vector::infinity && !is_planted(planted_bug::joins_without_a_hold);
  if (holds && policy.is_out(rank)) policy.worker_joins(rank, clock);
}

void join_barrier::set_hold(const job_record& job, std::uint32_t rank, std::uint64_t clock,
                            shard_effects& out) {
  const auto before = std::exchange(holds_[job.token], {.rank = rank, .clock = clock});
  if (job.epoch == 0) return;  // a replica makes the steps that it is told
  for (const auto slot : job.slots) {
    auto& chunk = state_.registry.chunk(slot);
    if (before.clock != clock_vector::infinity)
      chunk.policy->worker_finished(before.rank, state_.steps.decisions());
    begin_hold(job, *chunk.policy);
    state_.steps.carry_out(chunk, chunk_registry::base_of(chunk), out);
  }
  state_.replies.flush(out);
}

std::uint64_t join_barrier::hold(std::uint64_t token, std::uint64_t clock, std::uint32_t rank,
                                 shard_effects& out) {
  const auto* job = state_.registry.find_job(token, rank);
  if (!job) return 0;
  const auto come_to = clock == clock_vector::infinity ? 0 : beyond(*job, clock, rank);
  // What was held before may be what this one waits for.
  const auto until = come_to > 0 ? clock_vector::infinity : clock;
  const auto held = holds_[token];
  if (held.clock != until || held.rank != rank) set_hold(*job, rank, until, out);
  return come_to;
}

// A clock whose step waits for the norm takes in nobody any more.
std::uint64_t join_barrier::closed_below(const chunk_record& chunk) {
  const auto version = chunk.versions.version();
  return chunk.clipped == nullptr ? version : std::max(version, chunk.clipped->closed_below());
}

// Returns a clock that some chunk has come to, where the rank cannot begin at this one; else 0.
std::uint64_t join_barrier::beyond(const job_record& job, std::uint64_t clock,
                                   std::uint32_t rank) const {
  const auto& pushes = state_.pushes;
  std::uint64_t come_to = 0;
  for (const auto slot : job.slots) {
    const auto& chunk = state_.registry.chunk(slot);
    if (job.has_exact_versions())
      come_to = std::max(come_to, closed_below(chunk));
    else
      for (std::uint32_t other = 0; other < chunk.ranks(); ++other)
        come_to = std::max(come_to, pushes.next(slot, other));
    // What it pushed in an earlier stay, and is not applied, is before it pushes again: then
    // others are two clocks further.
    if (pushes.holds_unapplied(chunk, rank))
      come_to = std::max(come_to, pushes.next(slot, rank) + 2);
  }
  return come_to > clock ? come_to : 0;
}

bool join_barrier::change_membership(std::uint64_t token, const membership_change& change,
                                     shard_effects& out) {
  auto* job = state_.registry.find_job(token, change.rank);
  if (!job) return false;
  // An aggregator hears of its members only, each once for good.
  if (job->relay_parts == 0 && change.number <= job->changes) return false;
  job->changes = change.number;
  if (!is_planted(planted_bug::mean_over_those_who_left))
    job->membership.change(change.clock, change.joins);
  if (change.joins)
    has_joined(*job, change, out);
  else if (change.pushes_here)
    has_left(*job, change.rank, out);
  return true;
}

void join_barrier::has_left(job_record& job, std::uint32_t rank, shard_effects& out) {
  auto& worker = job.ranks[rank];
  worker.left = true;
  if (worker.finished) return;
  if (job.epoch != 0) return state_.admin.has_finished(job.token, rank, out);
  state_.pushes.forget_behind_gaps(job, rank, out);
  // A replica makes the steps that it is told.
  worker.finished = true;
  for (const auto slot : job.slots) state_.registry.chunk(slot).policy->worker_absent(rank);
}

void join_barrier::has_joined(job_record& job, const membership_change& change,
                              shard_effects& out) {
  const auto rank = change.rank;
  auto& worker = job.ranks[rank];
  worker.member = true;
  worker.finished = worker.left = false;
  worker.joined = change.clock;
  for (const auto slot : job.slots) {
    state_.pushes.orphan(state_.registry.chunk(slot), rank, out);
    state_.pushes.set_next(slot, rank, change.clock);
  }
  // If it is held for another, it is not any more.
  const auto held = holds_[job.token];
  if (held.rank != rank || held.clock != change.clock) set_hold(job, rank, change.clock, out);
  for (const auto slot : job.slots) {
    auto& policy = *state_.registry.chunk(slot).policy;
    if (policy.is_out(rank)) policy.worker_joins(rank, change.clock);
  }
  holds_[job.token].clock = clock_vector::infinity;
}

}  // namespace tidegate::policies::sharding
