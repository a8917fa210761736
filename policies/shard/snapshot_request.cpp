#include "policies/shard/snapshot_request.hpp"

#include <algorithm>

#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

std::uint64_t snapshot_request::cut(std::uint64_t token, std::uint64_t clock,
                                    std::span<const std::uint32_t> tables, shard_effects& out) {
  auto& registry = state_.registry;
  const auto* job = registry.find_job(token);
  if (!job || job->closed) return nothing_gone_by;
  std::uint64_t highest = 0;
  for (const auto table : tables)
    for (const auto slot : registry.slots_of(table))
      highest = std::max(highest, registry.chunk(slot).versions.version());
  for (const auto slot : job->slots) chunks_[slot].waits = false;
  if (job->has_exact_versions() && highest > clock) return highest;
  for (const auto table : tables)
    for (const auto slot : registry.slots_of(table)) {
      chunks_[slot].waits = true;
      chunks_[slot].clock = clock;
      take_if_due(registry.chunk(slot), out);
    }
  return nothing_gone_by;
}

// Under bsp a chunk passes through the clock, one version after the other.
bool snapshot_request::is_due(const chunk_record& chunk) const {
  const auto& request = chunks_[chunk.slot];
  if (!request.waits) return false;
  const auto version = chunk.versions.version();
  if (is_planted(planted_bug::cut_at_any_version) && version + 1 >= request.clock) return true;
  if (chunk.job().has_exact_versions() && request.clock != clock_vector::infinity)
    return version == request.clock;
  // Where nobody waits for anybody a worker may never push to this table.
  if (!traits_of(chunk.job().consistency.kind).waits_for_others &&
      request.clock != clock_vector::infinity)
    return true;
  return chunk.policy->complete_below() >= request.clock;
}

void snapshot_request::take_if_due(chunk_record& chunk, shard_effects& out) {
  if (!is_due(chunk)) return;
  auto& request = chunks_[chunk.slot];
  request.waits = false;
  request.taken = progress(chunk.slot);
  auto& ranks = request.taken.ranks;
  // Whoever goes on from there begins with all workers, each where the others are: at the end
  // they are where the last of them stopped.
  auto others = request.clock;
  if (others == clock_vector::infinity) {
    others = 0;
    for (const auto& progress : ranks) others = std::max(others, progress.next);
  }
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    if (chunk.job().ranks[rank].left) ranks[rank].next = std::max(ranks[rank].next, others);
  out.list.push_back(shard_effects::snapshot{chunk.slot, chunk.versions.version_buffer()});
}

cut_state snapshot_request::progress(std::uint32_t slot) const {
  const auto& chunk = state_.registry.chunk(slot);
  const auto& job = chunk.job();
  const bool exact = job.has_exact_versions();
  cut_state state;
  state.version = chunk.versions.version();
  state.ranks.resize(chunk.ranks());
  for (std::uint32_t rank = 0; rank < chunk.ranks(); ++rank) {
    auto& saved = state.ranks[rank];
    // One that pushes elsewhere holds nothing up.
    saved.finished = (job.ranks[rank].finished && !job.ranks[rank].left) ||
                     (!exact && !job.ranks[rank].member);
    // Under bsp pushes may be held; who is summed on the way is where all are, and so are those
    // of an aggregator that has said farewell as its members had left.
    saved.next = exact ? state.version : state_.pushes.next(slot, rank);
    if (is_planted(planted_bug::cut_forgets_who_has_pushed)) saved.next = 0;
  }
  return state;
}

void snapshot_request::restore(std::uint32_t slot, std::uint64_t version,
                               std::span<const rank_progress> ranks) {
  auto& chunk = state_.registry.chunk(slot);
  TIDEGATE_ASSERT(chunk.versions.version() == 0 && ranks.size() == chunk.ranks(),
                  "a chunk that has just been opened, for as many workers");
  chunk.versions.begin_at(version);
  std::vector<std::uint64_t> through(ranks.size(), 0);
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    // Who had joined and is not here has left its pushes, and joins behind them.
    state_.pushes.set_next(slot, rank, ranks[rank].next);
    if (chunk.job().ranks[rank].member) through[rank] = ranks[rank].next;
  }
  chunk.policy->restore(version, through);
}

}  // namespace tidegate::policies::sharding
