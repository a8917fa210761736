// Replication: what a primary hands to its replica and retains until then, and what a replica
// makes of it. After Li et al., OSDI 2014, section 4.3: replication after aggregation; beyond
// it, who pushed retains the gradient until the replica has it, so that the primary need not
// wait.
#include <algorithm>
#include <utility>

#include "policies/shard/core.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

// In its order.
bool shard_core::is_held(const chunk_state& chunk, std::uint32_t rank, std::uint64_t clock) {
  const auto& worker = chunk.workers[rank];
  const auto& held = worker.held[clock % window];
  return worker.next > clock && held.there && held.clock == clock;
}

// Applied, and the replica has not made the step yet.
bool shard_core::is_retained(const chunk_state& chunk, std::uint32_t rank,
                             std::uint64_t clock) {
  const auto& held = chunk.workers[rank].held[clock % window];
  return held.there && held.clock == clock && clock < chunk.policy->applied_below(rank);
}

// A step with it is on its way to the replica. One that was promoted may have made steps that
// its own replica lacks: nobody has told it of their pushes, but they are not known yet.
bool shard_core::waits_for_replica(const chunk_state& chunk, std::uint32_t rank,
                                   std::uint64_t clock) {
  if (is_planted(planted_bug::copy_acknowledged_before_replicated)) return false;
  return std::any_of(
      chunk.to_replicate.begin(), chunk.to_replicate.end(), [&](const step_to_replicate& step) {
        return step.clock == clock && (step.rank == all_ranks || step.rank == rank);
      });
}

bool shard_core::waits_for_replica(const chunk_state& chunk, std::uint64_t version) {
  return std::any_of(chunk.to_replicate.begin(), chunk.to_replicate.end(),
                     [&](const step_to_replicate& step) { return step.version == version; });
}

// Of a push whose step is on its way: acknowledged with it. Nobody needs its gradient.
void shard_core::hold_copy(chunk_state& chunk, const frame_tag& tag, bool rings) {
  auto& place = chunk.workers[tag.rank].held[tag.clock % window];
  if (place.there || place.arriving) return;
  TIDEGATE_RARE("shard: a push comes again while its step is on its way to the replica");
  place = {false, true, rings, tag.clock, no_payload};
  ++held_;
}

// Pushes of `rank` below this are wherever they have to be. One who has finished has no bound
// of its own.
std::uint64_t shard_core::settled_below(const chunk_state& chunk, std::uint32_t rank) {
  const auto joined = chunk.home->job->workers[rank].joined;
  auto below =
      std::min(chunk.workers[rank].next, std::max(chunk.policy->applied_below(rank), joined));
  while (below > joined &&
         (is_retained(chunk, rank, below - 1) || waits_for_replica(chunk, rank, below - 1)))
    --below;
  return below;
}

void shard_core::lead(std::uint64_t token, bool has_all, shard_effects& out) {
  auto& job = jobs_.at(token);
  if (!has_all) lead_nobody(token, out);
  job.leads = true;
  job.begun = 0;
  for (const auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    chunk.follows = has_all;
    TIDEGATE_ASSERT(!chunk.seeding, "whoever has all is not being given anything");
    if (!chunk.to_replicate.empty())
      TIDEGATE_RARE("shard: a step is handed to the replica of the one that died");
    replicate_next(slot, chunk, out);
  }
}

void shard_core::lead_nobody(std::uint64_t token, shard_effects& out) {
  auto& job = jobs_.at(token);
  if (!std::exchange(job.leads, false)) return;
  job.begun = job.seeding = 0;
  for (const auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    chunk.follows = chunk.seeding = false;
    for (const auto& step : std::exchange(chunk.to_replicate, {})) settle_step(slot, step, out);
  }
  flush_runs(out);
  for (std::uint32_t rank = 0; rank < job.workers.size(); ++rank)
    farewell_replicated(token, rank, out);
}

// The replica makes one step of a chunk after the other; what comes behind waits here.
void shard_core::retain(std::uint32_t slot, const policy_decision& decision,
                        std::uint32_t inputs, std::uint32_t team, shard_effects& out) {
  auto& chunk = chunks_[slot];
  const bool all = decision.kind == policy_decision::action::apply_clock;
  step_to_replicate step{
      chunk.version, all ? all_ranks : decision.rank, decision.clock, team, inputs, no_payload,
      false};
  if (inputs == 1) step.payload = out.inputs.back().payload;
  if (inputs > 1) {
    auto& apply = std::get<shard_effects::apply>(out.list.back());
    apply.keeps_sum = true;
    apply.clock = decision.clock;
  }
  if (is_planted(planted_bug::acknowledged_before_replicated) && !all)
    acknowledge(chunk, tag_of(chunk, decision.rank, decision.clock, base_of(chunk)),
                chunk.workers[decision.rank].held[decision.clock % window].rings, refusal::none,
                out);
  hand_to_replica(slot, step, out);
}

void shard_core::hand_to_replica(std::uint32_t slot, const step_to_replicate& step,
                                 shard_effects& out) {
  auto& chunk = chunks_[slot];
  chunk.to_replicate.push_back(step);
  if (chunk.to_replicate.size() == 1 && !chunk.seeding) replicate_next(slot, chunk, out);
}

void shard_core::replicate_next(std::uint32_t slot, chunk_state& chunk, shard_effects& out) {
  if (chunk.to_replicate.empty()) return;
  const auto& step = chunk.to_replicate.front();
  out.list.push_back(shard_effects::replicate{slot, step.version, step.rank, step.clock,
                                              step.team, step.inputs == 0, step.payload});
}

void shard_core::replicated(std::span<const std::uint32_t> slots, std::uint64_t version,
                            shard_effects& out) {
  for (const auto slot : slots) {
    auto& chunk = chunks_[slot];
    if (chunk.to_replicate.empty() || chunk.to_replicate.front().version != version) continue;
    const auto step = chunk.to_replicate.front();
    chunk.to_replicate.erase(chunk.to_replicate.begin());
    settle_step(slot, step, out);
    replicate_next(slot, chunk, out);
  }
  flush_runs(out);
}

void shard_core::settle_step(std::uint32_t slot, const step_to_replicate& step,
                             shard_effects& out) {
  auto& chunk = chunks_[slot];
  if (chunk.home->job->epoch == 0) {  // a replica, which has said so to nobody yet
    out.list.push_back(shard_effects::followed{slot, step.version});
    return;
  }
  if (step.owns_payload) out.list.push_back(shard_effects::release{step.payload});
  const bool all = step.rank == all_ranks;
  const auto end = all ? static_cast<std::uint32_t>(chunk.workers.size()) : step.rank + 1;
  for (auto rank = all ? 0 : step.rank; rank < end; ++rank) {
    auto& held = chunk.workers[rank].held[step.clock % window];
    if (!held.there || held.clock != step.clock) continue;
    if (!chunk.home->job->closed) {
      settle(chunk, rank, step.clock, base_of(chunk), refusal::none, out);
      continue;
    }
    // Its worker has been told that the job has ended.
    if (held.payload != no_payload) out.list.push_back(shard_effects::release{held.payload});
    held = {};
    --held_;
  }
}

void shard_core::farewell_replicated(std::uint64_t token, std::uint32_t rank,
                                     shard_effects& out) {
  const auto at = jobs_.find(token);
  if (at == jobs_.end() || rank >= at->second.workers.size()) return;
  auto& worker = at->second.workers[rank];
  if (!std::exchange(worker.farewell_waits, false)) return;
  frame_tag tag;
  tag.job = token;
  tag.epoch = at->second.epoch;
  tag.incarnation = worker.incarnation;
  tag.rank = rank;
  tag.chunk = whole_table;
  out.list.push_back(shard_effects::acknowledge{tag, refusal::none});
}

// There may be a million chunks, and this is asked for each of them.
bool shard_core::all_begun(job_state& job) const {
  while (job.begun < job.slots.size() && chunks_[job.slots[job.begun]].follows) ++job.begun;
  return job.begun == job.slots.size();
}

std::optional<std::uint32_t> shard_core::next_to_seed(std::uint64_t token) {
  auto& job = jobs_.at(token);
  if (!job.leads || all_begun(job)) return {};
  return job.slots[job.begun];
}

bool shard_core::all_seeded(std::uint64_t token) {
  auto& job = jobs_.at(token);
  return all_begun(job) && job.seeding == 0;
}

void shard_core::seed(std::uint32_t slot, shard_effects& out) {
  auto& chunk = chunks_[slot];
  TIDEGATE_ASSERT(!chunk.follows && chunk.to_replicate.empty(), "handed over once");
  chunk.follows = chunk.seeding = true;
  ++chunk.home->job->seeding;
  chunk.seeded = {progress_of(chunk), {}};
  shard_effects::seed seed{slot, chunk.plane, {no_plane, no_plane}};
  for (std::size_t i = 0; i < versions_kept_max && chunk.kept[i].plane != none_open; ++i) {
    seed.kept[i] = chunk.kept[i].plane;
    chunk.seeded.kept.push_back(chunk.kept[i].version);
  }
  out.list.push_back(seed);
}

void shard_core::seeded(std::uint32_t slot, std::uint64_t version, shard_effects& out) {
  auto& chunk = chunks_[slot];
  if (!chunk.seeding || chunk.seeded.now.version != version) return;
  chunk.seeding = false;
  --chunk.home->job->seeding;
  replicate_next(slot, chunk, out);
}

bool shard_core::find_step(const followed_step& step, std::uint32_t& slot) const {
  if (!has_table(step.job, step.table)) return false;
  const auto& slots = tables_.at(step.table).slots;
  const auto at = slots.find(step.chunk);
  if (at == slots.end()) return false;
  slot = at->second;
  const auto& workers = chunks_[slot].workers;
  return step.rank == all_ranks || step.rank < workers.size();
}

push_admission shard_core::begin_step(const followed_step& step, std::uint64_t payload_bytes) {
  using kind = push_admission::what;
  std::uint32_t slot = 0;
  if (!find_step(step, slot)) return {kind::refuse, refusal::unknown_chunk};
  auto& chunk = chunks_[slot];
  if (step.version <= chunk.version)
    return {waits_for_replica(chunk, step.version) ? kind::drop : kind::refuse, refusal::none};
  if (step.team == 0 || step.team > chunk.workers.size())
    return {kind::refuse, refusal::unknown_worker};
  if (chunk.stepping || step.version != chunk.version + 1) return {kind::drop, refusal::none};
  if (payload_bytes != chunk.elements * sizeof(float))
    return {kind::refuse, refusal::wrong_size};
  chunk.stepping = true;
  return {kind::take, refusal::none};
}

void shard_core::cancel_step(const followed_step& step) {
  std::uint32_t slot = 0;
  if (find_step(step, slot)) chunks_[slot].stepping = false;
}

void shard_core::follow(const followed_step& step, payload_handle payload, shard_effects& out) {
  std::uint32_t slot = 0;
  const bool found = find_step(step, slot);
  if (found && step.version == chunks_[slot].version + 1) {
    auto& chunk = chunks_[slot];
    chunk.stepping = false;
    const auto first = static_cast<std::uint32_t>(out.inputs.size());
    const bool all = step.rank == all_ranks;
    const std::uint32_t inputs = payload != no_payload ? 1 : 0;
    if (inputs > 0) out.inputs.push_back({all ? 0 : step.rank, payload});
    make_step(slot, first, inputs, step.team, out);
    auto& workers = chunk.home->job->workers;
    for (std::uint32_t rank = 0; rank < workers.size(); ++rank)
      if (all ? !workers[rank].finished && workers[rank].member : rank == step.rank)
        chunk.workers[rank].next = std::max(chunk.workers[rank].next, step.clock + 1);
    if (chunk.follows) {
      // The sum is kept here: where it came from may go.
      if (inputs > 0) {
        auto& apply = std::get<shard_effects::apply>(out.list.back());
        apply.keeps_sum = true;
        apply.clock = step.clock;
      }
      hand_to_replica(slot, {chunk.version, step.rank, step.clock, step.team, inputs}, out);
    }
  }
  if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
  const bool waits = found && waits_for_replica(chunks_[slot], step.version) &&
                     !is_planted(planted_bug::followed_before_the_tail);
  if (found && step.version <= chunks_[slot].version && !waits)
    out.list.push_back(shard_effects::followed{slot, step.version});
}

void shard_core::follow_another() {
  for (auto& [token, job] : jobs_)
    for (const auto slot : job.slots) chunks_[slot].stepping = chunks_[slot].has_seed = false;
}

push_admission shard_core::begin_seed(const followed_step& step) {
  using kind = push_admission::what;
  std::uint32_t slot = 0;
  if (!find_step(step, slot)) return {kind::refuse, refusal::unknown_chunk};
  auto& chunk = chunks_[slot];
  if (chunk.has_seed) return {kind::refuse, refusal::none};
  if (chunk.stepping) return {kind::drop, refusal::none};
  chunk.stepping = true;
  return {kind::take, refusal::none};
}

void shard_core::cancel_seed(const followed_step& step) {
  cancel_step(step);
}

void shard_core::follow_seed(const followed_step& step, const seed_state& state,
                             shard_effects& out) {
  std::uint32_t slot = 0;
  if (!find_step(step, slot)) return;
  auto& chunk = chunks_[slot];
  TIDEGATE_ASSERT(chunk.stepping && !chunk.has_seed, "begin_seed allowed it");
  TIDEGATE_ASSERT(state.now.ranks.size() == chunk.workers.size(), "of the same job");
  chunk.stepping = false;
  chunk.has_seed = true;
  chunk.plane = seed_plane;
  chunk.version = state.now.version;
  for (std::uint32_t rank = 0; rank < chunk.workers.size(); ++rank)
    if (const auto& worker = chunk.home->job->workers[rank]; worker.member)
      // What was handed over may be older than the news that it joins.
      chunk.workers[rank].next = std::max(state.now.ranks[rank].next, worker.joined);
  for (auto& version : std::exchange(chunk.kept, {}))
    if (version.plane != none_open) --chunk.readers[version.plane];
  // The oldest first.
  for (auto i = std::min<std::size_t>(state.kept.size(), chunk.home->job->keeps); i-- > 0;) {
    if (chunk.readers.size() <= kept_plane(i)) chunk.readers.resize(kept_plane(i) + 1, 0);
    keep(chunk, kept_plane(i), state.kept[i]);
  }
  out.list.push_back(shard_effects::followed{slot, chunk.version});
}

void shard_core::follow_farewell(std::uint64_t token, std::uint32_t rank, std::uint64_t since) {
  const auto job = jobs_.find(token);
  if (job == jobs_.end() || rank >= job->second.workers.size()) return;
  auto& worker = job->second.workers[rank];
  if (since >= worker.joined) worker.finished = true;
}

std::uint64_t shard_core::first_clock(std::uint64_t token, std::uint32_t rank) const {
  const auto job = jobs_.find(token);
  return job == jobs_.end() || rank >= job->second.workers.size()
             ? 0
             : job->second.workers[rank].joined;
}

void shard_core::promote(std::uint64_t token, std::uint64_t epoch, shard_effects& out) {
  auto& job = jobs_.at(token);
  job.epoch = epoch;
  for (const auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    chunk.stepping = false;
    const bool is_bsp = job.consistency.kind == consistency_kind::bsp;
    if (is_planted(planted_bug::replica_one_version_ahead) && is_bsp && chunk.version > 0) {
      ++chunk.version;
      for (auto& worker : chunk.workers) ++worker.next;
    }
    std::vector<std::uint64_t> through(chunk.workers.size(), 0);
    for (std::uint32_t rank = 0; rank < through.size(); ++rank) {
      if (!job.workers[rank].member) continue;
      auto& next = chunk.workers[rank].next;
      // Of one who has finished all is in; somebody may have said so before its last step came.
      if (is_bsp && job.workers[rank].finished) next = std::max(next, chunk.version);
      if (is_planted(planted_bug::dedupe_forgotten_at_promotion) && next > 0 && !is_bsp) --next;
      through[rank] = next;
    }
    chunk.policy->restore(chunk.version, through);
    for (std::uint32_t rank = 0; rank < through.size(); ++rank)
      if (job.workers[rank].finished) chunk.policy->worker_finished(rank, decisions_);
    // But of clocks that nobody is left to push.
    TIDEGATE_ASSERT(decisions_.empty() || job.changes > 0,
                    "a replica has made every step that was due");
    begin_hold(job, *chunk.policy);
    chunk.policy->catch_up(decisions_);
    carry_out(slot, base_of(chunk), out);
  }
}

}  // namespace tidegate::policies
