#include "policies/shard/chunk_follower.hpp"

#include <algorithm>

#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

bool chunk_follower::find(const followed_step& step, std::uint32_t& slot) const {
  const auto found = state_.registry.find_slot(step.job, step.table, step.chunk);
  if (!found) return false;
  slot = *found;
  return step.rank == all_ranks || step.rank < state_.registry.chunk(slot).ranks();
}

push_admission chunk_follower::begin_step(const followed_step& step,
                                          std::uint64_t payload_bytes) {
  using verdict = push_admission::verdict;
  std::uint32_t slot = 0;
  if (!find(step, slot)) return {verdict::refuse, reply_code::unknown_chunk};
  const auto& chunk = state_.registry.chunk(slot);
  const auto version = chunk.versions.version();
  if (step.version <= version) {
    const bool waits = state_.replication.waits_for(slot, step.version);
    return {waits ? verdict::drop : verdict::refuse, reply_code::ok};
  }
  if (step.contributors == 0 || step.contributors > chunk.ranks())
    return {verdict::refuse, reply_code::unknown_worker};
  if (chunks_[slot].stepping || step.version != version + 1)
    return {verdict::drop, reply_code::ok};
  if (!chunk.takes_sum(payload_bytes)) return {verdict::refuse, reply_code::wrong_size};
  chunks_[slot].stepping = true;
  return {verdict::take, reply_code::ok};
}

push_admission chunk_follower::begin_seed(const followed_step& step) {
  using verdict = push_admission::verdict;
  std::uint32_t slot = 0;
  if (!find(step, slot)) return {verdict::refuse, reply_code::unknown_chunk};
  auto& followed = chunks_[slot];
  if (followed.has_seed) return {verdict::refuse, reply_code::ok};
  if (followed.stepping) return {verdict::drop, reply_code::ok};
  followed.stepping = true;
  return {verdict::take, reply_code::ok};
}

void chunk_follower::cancel(const followed_step& step) {
  std::uint32_t slot = 0;
  if (find(step, slot)) chunks_[slot].stepping = false;
}

void chunk_follower::follow(const followed_step& step, payload_handle payload,
                            shard_effects& out) {
  std::uint32_t slot = 0;
  const bool found = find(step, slot);
  if (found && step.version == state_.registry.chunk(slot).versions.version() + 1)
    make_step(state_.registry.chunk(slot), step, payload, out);
  if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
  if (!found || step.version > state_.registry.chunk(slot).versions.version()) return;
  const bool waits = state_.replication.waits_for(slot, step.version) &&
                     !is_planted(planted_bug::followed_before_the_tail);
  if (!waits) out.list.push_back(shard_effects::followed{slot, step.version});
}

void chunk_follower::make_step(chunk_record& chunk, const followed_step& step,
                               payload_handle payload, shard_effects& out) {
  chunks_[chunk.slot].stepping = false;
  const auto first = static_cast<std::uint32_t>(out.inputs.size());
  const bool all = step.rank == all_ranks;
  const std::uint32_t inputs = payload != no_payload ? 1 : 0;
  if (inputs > 0) out.inputs.push_back({all ? 0 : step.rank, payload});
  if (step.squares && !is_planted(planted_bug::norm_not_handed_with_steps))
    state_.norms.note(chunk.job(), step.clock, *step.squares);
  step_executor::make_step(
      chunk,
      {.clock = step.clock,
       .first = first,
       .count = inputs,
       .contributors = step.contributors,
       .rate = is_planted(planted_bug::replica_steps_at_its_own_rate) ? 1.0F : step.rate,
       .squares = step.squares},
      out);
  const auto& ranks = chunk.job().ranks;
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank)
    if (all ? !ranks[rank].finished && ranks[rank].member : rank == step.rank)
      state_.pushes.set_next(chunk.slot, rank,
                             std::max(state_.pushes.next(chunk.slot, rank), step.clock + 1));
  if (!state_.replication.follows(chunk.slot)) return;
  state_.replication.hand_on(chunk,
                             {.version = chunk.versions.version(),
                              .rank = step.rank,
                              .clock = step.clock,
                              .contributors = step.contributors,
                              .rate = step.rate,
                              .squares = step.squares,
                              .inputs = inputs},
                             out);
}

void chunk_follower::follow_another() {
  std::fill(chunks_.begin(), chunks_.end(), followed_chunk{});
}

void chunk_follower::follow_seed(const followed_step& step, const seed_state& state,
                                 shard_effects& out) {
  std::uint32_t slot = 0;
  if (!find(step, slot)) return;
  auto& chunk = state_.registry.chunk(slot);
  auto& followed = chunks_[slot];
  TIDEGATE_ASSERT(followed.stepping && !followed.has_seed, "begin_seed allowed it");
  TIDEGATE_ASSERT(state.now.ranks.size() == chunk.ranks(), "of the same job");
  followed.stepping = false;
  followed.has_seed = true;
  for (std::uint32_t rank = 0; rank < chunk.ranks(); ++rank) {
    const auto& worker = chunk.job().ranks[rank];
    // What was handed over may be older than the news that it joins.
    const auto joined = worker.member ? worker.joined : 0;
    state_.pushes.set_next(slot, rank, std::max(state.now.ranks[rank].next, joined));
  }
  if (state.norm && !is_planted(planted_bug::norm_not_handed_with_seeds))
    state_.norms.note(chunk.job(), state.norm->clock, state.norm->squares);
  chunk.versions.take_over(state.now.version, state.kept);
  out.list.push_back(shard_effects::followed{slot, state.now.version});
}

void chunk_follower::follow_farewell(std::uint64_t token, std::uint32_t rank,
                                     std::uint64_t since) {
  auto* job = state_.registry.find_job(token, rank);
  if (!job) return;
  auto& worker = job->ranks[rank];
  if (since >= worker.joined) worker.finished = true;
}

// Planted: the chunk has a version that nobody pushed.
void chunk_follower::run_ahead(chunk_record& chunk) {
  if (chunk.versions.version() == 0) return;
  chunk.versions.advance(chunk.versions.version_buffer());
  auto& pushes = state_.pushes;
  for (std::uint32_t rank = 0; rank < chunk.ranks(); ++rank)
    pushes.set_next(chunk.slot, rank, pushes.next(chunk.slot, rank) + 1);
}

void chunk_follower::promote(std::uint64_t token, std::uint64_t epoch, shard_effects& out) {
  auto& job = state_.registry.job(token);
  auto& pushes = state_.pushes;
  auto& decisions = state_.steps.decisions();
  const bool is_bsp = job.has_exact_versions();
  job.epoch = epoch;
  for (const auto slot : job.slots) {
    auto& chunk = state_.registry.chunk(slot);
    chunks_[slot].stepping = false;
    if (is_planted(planted_bug::replica_one_version_ahead) && is_bsp) run_ahead(chunk);
    std::vector<std::uint64_t> through(chunk.ranks(), 0);
    for (std::uint32_t rank = 0; rank < through.size(); ++rank) {
      if (!job.ranks[rank].member) continue;
      auto next = pushes.next(slot, rank);
      // Of one who has finished all is in; somebody may have said so before its last step came.
      if (is_bsp && job.ranks[rank].finished) next = std::max(next, chunk.versions.version());
      if (is_planted(planted_bug::dedupe_forgotten_at_promotion) && next > 0 && !is_bsp) --next;
      pushes.set_next(slot, rank, next);
      through[rank] = next;
    }
    chunk.policy->restore(chunk.versions.version(), through);
    for (std::uint32_t rank = 0; rank < through.size(); ++rank)
      if (job.ranks[rank].finished) chunk.policy->worker_finished(rank, decisions);
    // But of clocks that nobody is left to push.
    TIDEGATE_ASSERT(decisions.empty() || job.changes > 0,
                    "a replica has made every step that was due");
    state_.membership.begin_hold(job, *chunk.policy);
    chunk.policy->catch_up(decisions);
    state_.steps.carry_out(chunk, chunk_registry::base_of(chunk), out);
  }
}

}  // namespace tidegate::policies::sharding
