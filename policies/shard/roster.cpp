// Ranks that leave their job for good, or join it while it runs.
#include <algorithm>
#include <utility>

#include "policies/shard/core.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

void shard_core::shut_out(std::uint64_t token, std::uint32_t rank) {
  const auto job = jobs_.find(token);
  if (job == jobs_.end() || rank >= job->second.workers.size()) return;
  job->second.workers[rank].shut_out = true;
  forget_process(job->second, rank);
}

std::uint64_t shard_core::pushed_below(std::uint64_t token, std::uint32_t rank) const {
  const auto job = jobs_.find(token);
  if (job == jobs_.end() || rank >= job->second.workers.size()) return 0;
  std::uint64_t first = 0;
  for (const auto slot : job->second.slots)
    first = std::max(first, chunks_[slot].workers[rank].next);
  return first;
}

void shard_core::begin_hold(const job_state& job, consistency_policy& policy) {
  const bool holds = job.hold_clock != clock_vector::infinity &&
                     !is_planted(planted_bug::joins_without_a_hold);
  if (holds && policy.is_out(job.hold_rank)) policy.worker_joins(job.hold_rank, job.hold_clock);
}

void shard_core::set_hold(job_state& job, std::uint32_t rank, std::uint64_t clock,
                          shard_effects& out) {
  const auto before = std::exchange(job.hold_rank, rank);
  const bool held = std::exchange(job.hold_clock, clock) != clock_vector::infinity;
  if (job.epoch == 0) return;  // a replica makes the steps that it is told
  for (const auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    if (held) chunk.policy->worker_finished(before, decisions_);
    begin_hold(job, *chunk.policy);
    carry_out(slot, base_of(chunk), out);
  }
  flush_runs(out);
}

std::uint64_t shard_core::hold(std::uint64_t token, std::uint64_t clock, std::uint32_t rank,
                               shard_effects& out) {
  const auto at = jobs_.find(token);
  if (at == jobs_.end() || rank >= at->second.workers.size()) return 0;
  auto& job = at->second;
  const auto come_to = clock == clock_vector::infinity ? 0 : beyond(job, clock, rank);
  // What was held before may be what this one waits for.
  const auto until = come_to > 0 ? clock_vector::infinity : clock;
  if (job.hold_clock != until || job.hold_rank != rank) set_hold(job, rank, until, out);
  return come_to;
}

// A clock that some chunk has come to, where the rank cannot begin at this one; else 0.
std::uint64_t shard_core::beyond(const job_state& job, std::uint64_t clock,
                                 std::uint32_t rank) const {
  const bool exact = job.consistency.kind == consistency_kind::bsp;
  std::uint64_t come_to = 0;
  for (const auto slot : job.slots) {
    const auto& chunk = chunks_[slot];
    if (exact)
      come_to = std::max(come_to, chunk.version);
    else
      for (const auto& worker : chunk.workers) come_to = std::max(come_to, worker.next);
    // What it pushed in an earlier stay, and is not applied, is before it pushes again: then
    // others are two clocks further.
    const auto& worker = chunk.workers[rank];
    for (const auto& held : worker.held)
      if (held.there && !is_retained(chunk, rank, held.clock))
        come_to = std::max(come_to, worker.next + 2);
  }
  return come_to > clock ? come_to : 0;
}

bool shard_core::change_roster(std::uint64_t token, const roster_change& change,
                               shard_effects& out) {
  const auto at = jobs_.find(token);
  if (at == jobs_.end() || change.rank >= at->second.workers.size()) return false;
  auto& job = at->second;
  // An aggregator hears of its members only, each once for good.
  if (job.relay_parts == 0 && change.number <= job.changes) return false;
  job.changes = change.number;
  if (!is_planted(planted_bug::mean_over_those_who_left))
    job.membership.change(change.clock, change.joins);
  if (change.joins)
    has_joined(job, change, out);
  else if (change.pushes_here)
    has_left(token, change.rank, out);
  return true;
}

void shard_core::has_left(std::uint64_t token, std::uint32_t rank, shard_effects& out) {
  auto& job = jobs_.at(token);
  auto& worker = job.workers[rank];
  worker.left = true;
  if (worker.finished) return;
  if (job.epoch != 0) return has_finished(token, rank, out);
  forget_behind_gaps(job, rank, out);
  // A replica makes the steps that it is told.
  worker.finished = true;
  for (const auto slot : job.slots) chunks_[slot].policy->worker_absent(rank);
}

// What came before what it waits for: nobody sends that any more. Of a worker that left, or of
// an aggregator all of whose members have, which may have died with what was lost on the way.
void shard_core::forget_behind_gaps(const job_state& job, std::uint32_t rank,
                                    shard_effects& out) {
  for (const auto slot : job.slots) {
    auto& worker = chunks_[slot].workers[rank];
    for (auto& held : worker.held) {
      if (!held.there || held.clock < worker.next) continue;
      TIDEGATE_RARE("shard: a push of a worker that left has a gap before it");
      if (held.payload != no_payload) out.list.push_back(shard_effects::release{held.payload});
      held = {};
      --held_;
    }
  }
}

// Its pushes of an earlier stay that are on their way to the replica: nobody waits for them,
// and their places are needed.
void shard_core::orphan(chunk_state& chunk, std::uint32_t rank, shard_effects& out) {
  const auto joined = chunk.home->job->workers[rank].joined;
  for (auto& held : chunk.workers[rank].held) {
    // A policy that closes two clocks at once is past both before the first is carried out.
    const bool is_earlier = held.there && held.clock < joined;
    if (!is_earlier || !is_retained(chunk, rank, held.clock)) continue;
    bool is_needed = false;
    for (auto& step : chunk.to_replicate)
      if (held.payload != no_payload && step.payload == held.payload)
        step.owns_payload = is_needed = true;
    if (held.payload != no_payload && !is_needed)
      out.list.push_back(shard_effects::release{held.payload});
    held = {};
    --held_;
  }
}

void shard_core::has_joined(job_state& job, const roster_change& change, shard_effects& out) {
  auto& worker = job.workers[change.rank];
  worker.member = true;
  worker.finished = worker.left = false;
  worker.joined = change.clock;
  for (const auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    orphan(chunk, change.rank, out);
    chunk.workers[change.rank].next = change.clock;
  }
  // If it is held for another, it is not any more.
  if (job.hold_rank != change.rank || job.hold_clock != change.clock)
    set_hold(job, change.rank, change.clock, out);
  for (const auto slot : job.slots)
    if (chunks_[slot].policy->is_out(change.rank))
      chunks_[slot].policy->worker_joins(change.rank, change.clock);
  job.hold_clock = clock_vector::infinity;
}

}  // namespace tidegate::policies
