#include "policies/shard_core.hpp"

#include <utility>

#include "runtime/base/assert.hpp"

namespace tidegate::policies {

void shard_core::open_job(std::uint64_t token, std::uint32_t epoch, std::uint32_t workers,
                          const consistency_spec& consistency) {
  auto [at, fresh] = jobs_.try_emplace(token);
  if (!fresh) return;
  at->second.epoch = epoch;
  at->second.consistency = consistency;
  at->second.workers.resize(workers);
}

std::vector<owned_chunk> shard_core::open_table(std::uint64_t token, std::uint32_t table,
                                                std::span<const chunk_place> places) {
  const auto job = jobs_.find(token);
  TIDEGATE_ASSERT(job != jobs_.end(), "a table is opened after its job");
  auto [at, fresh] = tables_.try_emplace(table);
  std::vector<owned_chunk> owned;
  if (fresh) at->second.job = token;
  for (const auto& place : places) {
    const auto next = static_cast<std::uint32_t>(chunks_.size());
    const auto [entry, added] = at->second.slots.try_emplace(place.chunk, next);
    owned.push_back({place.chunk, entry->second, place.first, place.elements});
    if (!added) continue;
    auto& chunk = chunks_.emplace_back();
    chunk.table = table;
    chunk.chunk = place.chunk;
    chunk.elements = place.elements;
    const auto workers = static_cast<std::uint32_t>(job->second.workers.size());
    chunk.policy = make_policy(job->second.consistency, workers);
    chunk.workers.resize(workers);
    job->second.slots.push_back(next);
  }
  return owned;
}

refusal shard_core::admit_worker(std::uint64_t token, std::uint32_t rank,
                                 std::uint32_t incarnation) {
  const auto job = jobs_.find(token);
  if (job == jobs_.end()) return refusal::unknown_job;
  if (rank >= job->second.workers.size()) return refusal::unknown_worker;
  auto& worker = job->second.workers[rank];
  if (incarnation < worker.incarnation) return refusal::unknown_worker;
  if (incarnation == worker.incarnation) return refusal::none;
  worker.incarnation = incarnation;
  for (auto slot : job->second.slots) {
    chunks_[slot].policy->worker_replaced(rank);
    auto& at_chunk = chunks_[slot].workers[rank];
    at_chunk.pulling = false;
    for (auto& held : at_chunk.held)
      held.arriving = false;  // of the one before, now a stranger
  }
  return refusal::none;
}

refusal shard_core::check_worker(const frame_tag& tag) const {
  const auto job = jobs_.find(tag.job);
  if (job == jobs_.end()) return refusal::unknown_job;
  if (job->second.closed) return refusal::job_ended;
  if (tag.epoch != job->second.epoch) return refusal::stale_epoch;
  if (tag.rank >= job->second.workers.size()) return refusal::unknown_worker;
  const auto incarnation = job->second.workers[tag.rank].incarnation;
  if (incarnation == 0 || incarnation != tag.incarnation) return refusal::unknown_worker;
  return refusal::none;
}

refusal shard_core::find_chunk(const frame_tag& tag, std::uint32_t& slot) const {
  if (const auto code = check_worker(tag); code != refusal::none) return code;
  const auto table = tables_.find(tag.table);
  if (table == tables_.end() || table->second.job != tag.job) return refusal::unknown_table;
  const auto chunk = table->second.slots.find(tag.chunk);
  if (chunk == table->second.slots.end()) return refusal::unknown_chunk;
  slot = chunk->second;
  return refusal::none;
}

refusal shard_core::check_push(const frame_tag& tag, std::uint64_t payload_bytes) const {
  std::uint32_t slot = 0;
  if (const auto code = find_chunk(tag, slot); code != refusal::none) return code;
  const auto& chunk = chunks_[slot];
  if (payload_bytes != chunk.elements * sizeof(float)) return refusal::wrong_size;
  const auto& worker = jobs_.at(tag.job).workers[tag.rank];
  if (worker.finished && tag.clock >= chunk.workers[tag.rank].next)
    return refusal::after_finish;
  // Not `applied + window`, which wraps for a clock near infinity.
  const auto applied = chunk.policy->applied_below(tag.rank);
  if (tag.clock > applied && tag.clock - applied >= window) return refusal::beyond_window;
  return refusal::none;
}

push_admission shard_core::begin_push(const frame_tag& tag, std::uint64_t payload_bytes) {
  using what = push_admission::what;
  if (const auto code = check_push(tag, payload_bytes); code != refusal::none)
    return {what::refuse, code};
  std::uint32_t slot = 0;
  const auto found = find_chunk(tag, slot);
  TIDEGATE_ASSERT(found == refusal::none, "check_push found it");
  auto& chunk = chunks_[slot];
  if (tag.clock < chunk.policy->applied_below(tag.rank)) return {what::refuse, refusal::none};
  auto& place = chunk.workers[tag.rank].held[tag.clock % window];
  if (place.there || place.arriving) return {what::drop, refusal::none};
  place.arriving = true;
  place.clock = tag.clock;
  return {what::take, refusal::none};
}

void shard_core::cancel_push(const frame_tag& tag) {
  std::uint32_t slot = 0;
  if (find_chunk(tag, slot) != refusal::none) return;
  auto& place = chunks_[slot].workers[tag.rank].held[tag.clock % window];
  if (place.clock == tag.clock) place.arriving = false;
}

void shard_core::push(const frame_tag& tag, payload_handle payload, shard_effects& out) {
  std::uint32_t slot = 0;
  auto code = find_chunk(tag, slot);
  if (code == refusal::none) code = check_push(tag, chunks_[slot].elements * sizeof(float));
  if (code != refusal::none) {
    if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
    out.list.push_back(shard_effects::acknowledge{tag, code});
    return;
  }
  auto& chunk = chunks_[slot];
  take(chunk, tag, payload, out);
  carry_out(slot, tag, out);
}

// Holds the push and feeds the policy what is next in the worker's order.
void shard_core::take(chunk_state& chunk, const frame_tag& tag, payload_handle payload,
                      shard_effects& out) {
  auto& worker = chunk.workers[tag.rank];
  auto& place = worker.held[tag.clock % window];
  const bool applied = tag.clock < chunk.policy->applied_below(tag.rank);
  if (applied || place.there) {  // a duplicate
    if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
    if (applied) out.list.push_back(shard_effects::acknowledge{tag, refusal::none});
    return;
  }
  place = {false, true, tag.clock, payload};
  ++held_;
  const auto end = chunk.policy->applied_below(tag.rank) + window;
  while (worker.next < end && worker.held[worker.next % window].there) {
    ++worker.next;
    chunk.policy->push_arrived(tag.rank, worker.next - 1, decisions_);
  }
}

void shard_core::carry_out(std::uint32_t slot, const frame_tag& base, shard_effects& out) {
  auto& chunk = chunks_[slot];
  for (const auto& decision : decisions_) {
    using what = policy_decision::what;
    if (decision.kind == what::apply_one || decision.kind == what::apply_clock) {
      apply(slot, decision, base, out);
      continue;
    }
    chunk.workers[decision.rank].pulling = false;
    frame_tag tag = base;
    tag.rank = decision.rank;
    tag.clock = decision.clock;
    tag.table = chunk.table;
    tag.chunk = chunk.chunk;
    tag.incarnation = jobs_.at(base.job).workers[decision.rank].incarnation;
    const auto code = decision.kind == what::answer ? refusal::none : refusal::too_late;
    out.list.push_back(
        shard_effects::reply{tag, code, slot, chunk.version, chunk.policy->complete_below()});
  }
  decisions_.clear();
}

void shard_core::apply(std::uint32_t slot, const policy_decision& what, const frame_tag& base,
                       shard_effects& out) {
  auto& chunk = chunks_[slot];
  const bool all = what.kind == policy_decision::what::apply_clock;
  const std::uint32_t begin = all ? 0 : what.rank;
  const auto end = all ? static_cast<std::uint32_t>(chunk.workers.size()) : what.rank + 1;
  const auto takes_part = [&](const worker_at_chunk& worker) {
    return worker.next > what.clock;
  };

  const auto first = static_cast<std::uint32_t>(out.inputs.size());
  for (std::uint32_t rank = begin; rank < end; ++rank) {
    const auto& held = chunk.workers[rank].held[what.clock % window];
    if (takes_part(chunk.workers[rank]) && held.payload != no_payload)
      out.inputs.push_back({rank, held.payload});
  }
  const auto count = static_cast<std::uint32_t>(out.inputs.size()) - first;
  if (count > 0) out.list.push_back(shard_effects::apply{slot, first, count});
  ++chunk.version;
  for (std::uint32_t rank = begin; rank < end; ++rank)
    if (takes_part(chunk.workers[rank]))
      settle(chunk, rank, what.clock, base, refusal::none, out);
}

// The push of (rank, clock) is in the parameters, or will never be: free its payload, answer
// it.
void shard_core::settle(chunk_state& chunk, std::uint32_t rank, std::uint64_t clock,
                        const frame_tag& base, refusal code, shard_effects& out) {
  auto& held = chunk.workers[rank].held[clock % window];
  TIDEGATE_ASSERT(held.there, "an applied push was held");
  if (held.payload != no_payload) out.list.push_back(shard_effects::release{held.payload});
  held = {};
  --held_;
  frame_tag tag = base;
  tag.rank = rank;
  tag.clock = clock;
  tag.table = chunk.table;
  tag.chunk = chunk.chunk;
  tag.incarnation = jobs_.at(base.job).workers[rank].incarnation;
  out.list.push_back(shard_effects::acknowledge{tag, code});
}

void shard_core::close_job(std::uint64_t token, shard_effects& out) {
  const auto at = jobs_.find(token);
  if (at == jobs_.end() || at->second.closed) return;
  auto& job = at->second;
  job.closed = true;
  frame_tag base;
  base.job = token;
  base.epoch = job.epoch;
  for (const auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    for (std::uint32_t rank = 0; rank < chunk.workers.size(); ++rank) {
      auto& worker = chunk.workers[rank];
      for (const auto& held : worker.held)
        if (held.there) settle(chunk, rank, held.clock, base, refusal::job_ended, out);
      if (!std::exchange(worker.pulling, false)) continue;
      frame_tag tag = base;
      tag.incarnation = job.workers[rank].incarnation;
      tag.rank = rank;
      tag.table = chunk.table;
      tag.chunk = chunk.chunk;
      tag.clock = worker.pull_clock;
      out.list.push_back(shard_effects::reply{tag, refusal::job_ended, 0, 0, 0});
    }
  }
}

void shard_core::pull(const frame_tag& tag, bool everything, shard_effects& out) {
  std::uint32_t slot = 0;
  auto code = find_chunk(tag, slot);
  if (code == refusal::none) {
    auto& worker = chunks_[slot].workers[tag.rank];
    if (worker.pulling && worker.pull_clock == tag.clock)
      return;  // a duplicate: answered when due
    if (worker.pulling) code = refusal::pull_under_way;
  }
  if (code != refusal::none) {
    out.list.push_back(shard_effects::reply{tag, code, 0, 0, 0});
    return;
  }
  auto& worker = chunks_[slot].workers[tag.rank];
  worker.pulling = true;
  worker.pull_clock = tag.clock;
  chunks_[slot].policy->pull_arrived({tag.rank, tag.clock, everything}, decisions_);
  carry_out(slot, tag, out);
}

void shard_core::finished(const frame_tag& tag, shard_effects& out) {
  if (const auto code = check_worker(tag); code != refusal::none) {
    out.list.push_back(shard_effects::acknowledge{tag, code});
    return;
  }
  auto& job = jobs_.at(tag.job);
  job.workers[tag.rank].finished = true;
  for (auto slot : job.slots) {
    chunks_[slot].policy->worker_finished(tag.rank, decisions_);
    carry_out(slot, tag, out);
  }
  out.list.push_back(shard_effects::acknowledge{tag, refusal::none});
}

}  // namespace tidegate::policies
