// Checkpoints: when a chunk is copied, and how it begins from a copy.
#include <algorithm>

#include "policies/shard/core.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

std::uint64_t shard_core::cut(std::uint64_t token, std::uint64_t clock,
                              std::span<const std::uint32_t> tables, shard_effects& out) {
  const auto job = jobs_.find(token);
  if (job == jobs_.end() || job->second.closed) return nothing_gone_by;
  const bool exact = job->second.consistency.kind == consistency_kind::bsp;
  std::uint64_t highest = 0;
  for (const auto table : tables)
    for (const auto slot : slots_of(table)) highest = std::max(highest, chunks_[slot].version);
  for (const auto slot : job->second.slots) chunks_[slot].to_cut = false;
  if (exact && highest > clock) return highest;
  for (const auto table : tables)
    for (const auto slot : slots_of(table)) {
      auto& chunk = chunks_[slot];
      chunk.to_cut = true;
      chunk.cut_clock = clock;
      if (cut_is_due(chunk)) take_cut(slot, out);
    }
  return nothing_gone_by;
}

// Under bsp a chunk passes through the clock, one version after the other.
bool shard_core::cut_is_due(const chunk_state& chunk) {
  if (!chunk.to_cut) return false;
  const bool exact = chunk.home->job->consistency.kind == consistency_kind::bsp;
  if (is_planted(planted_bug::cut_at_any_version) && chunk.version + 1 >= chunk.cut_clock)
    return true;
  if (exact && chunk.cut_clock != clock_vector::infinity)
    return chunk.version == chunk.cut_clock;
  // Under async nobody waits for anybody: a worker may never push to this table.
  if (chunk.home->job->consistency.kind == consistency_kind::async &&
      chunk.cut_clock != clock_vector::infinity)
    return true;
  return chunk.policy->complete_below() >= chunk.cut_clock;
}

void shard_core::take_cut(std::uint32_t slot, shard_effects& out) {
  auto& chunk = chunks_[slot];
  chunk.to_cut = false;
  chunk.cut = progress_of(chunk);
  // Whoever goes on from there begins with all workers, each where the others are: at the end
  // they are where the last of them stopped.
  auto others = chunk.cut_clock;
  if (others == clock_vector::infinity) {
    others = 0;
    for (const auto& progress : chunk.cut.ranks) others = std::max(others, progress.next);
  }
  for (std::uint32_t rank = 0; rank < chunk.workers.size(); ++rank)
    if (chunk.home->job->workers[rank].left)
      chunk.cut.ranks[rank].next = std::max(chunk.cut.ranks[rank].next, others);
  out.list.push_back(shard_effects::snapshot{slot, chunk.plane});
}

// What the chunk has, as of now.
shard_core::cut_state shard_core::progress_of(const chunk_state& chunk) {
  const auto& job = *chunk.home->job;
  const bool exact = job.consistency.kind == consistency_kind::bsp;
  cut_state state;
  state.version = chunk.version;
  state.ranks.resize(chunk.workers.size());
  for (std::uint32_t rank = 0; rank < chunk.workers.size(); ++rank) {
    auto& saved = state.ranks[rank];
    // One that pushes elsewhere holds nothing up.
    saved.finished = (job.workers[rank].finished && !job.workers[rank].left) ||
                     (!exact && !job.workers[rank].member);
    // Under bsp pushes may be held; who is summed on the way is where all are.
    saved.next = chunk.workers[rank].next;
    if (exact && !saved.finished) saved.next = chunk.version;
    if (is_planted(planted_bug::cut_forgets_who_has_pushed)) saved.next = 0;
  }
  return state;
}

void shard_core::restore(std::uint32_t slot, std::uint64_t version,
                         std::span<const rank_progress> ranks) {
  auto& chunk = chunks_[slot];
  TIDEGATE_ASSERT(chunk.version == 0 && ranks.size() == chunk.workers.size(),
                  "a chunk that has just been opened, for as many workers");
  chunk.version = version;
  std::vector<std::uint64_t> through(ranks.size(), 0);
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    if (!chunk.home->job->workers[rank].member) continue;
    chunk.workers[rank].next = through[rank] = ranks[rank].next;
  }
  chunk.policy->restore(version, through);
}

}  // namespace tidegate::policies
