// Jobs, tables, workers, and what may come in. The steps themselves are in shard_steps.cpp.
#include "policies/shard/core.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

void shard_core::open_job(std::uint64_t token, const job_options& options) {
  auto [at, fresh] = jobs_.try_emplace(token);
  if (!fresh) return;
  auto& job = at->second;
  job.epoch = options.epoch;
  job.consistency = options.consistency;
  job.keeps = versions_kept(options.consistency, options.workers_come_back, options.replicated);
  job.workers.resize(options.workers);
  job.membership = roster(options.team > 0 ? options.team : options.workers);
  const auto& members = options.members;
  if (members.empty()) return;
  for (std::uint32_t rank = 0; rank < options.workers; ++rank)
    job.workers[rank].member = std::binary_search(members.begin(), members.end(), rank);
}

std::vector<owned_chunk> shard_core::open_table(std::uint64_t token, std::uint32_t table,
                                                std::span<const chunk_place> places) {
  const auto job = jobs_.find(token);
  TIDEGATE_ASSERT(job != jobs_.end(), "a table is opened after its job");
  const auto workers = static_cast<std::uint32_t>(job->second.workers.size());
  auto [at, fresh] = tables_.try_emplace(table);
  std::vector<owned_chunk> owned;
  if (fresh) {
    at->second.token = token;
    at->second.job = &job->second;
    at->second.runs.resize(workers);
  }
  for (const auto& place : places) {
    const auto next = static_cast<std::uint32_t>(chunks_.size());
    const auto [entry, added] = at->second.slots.try_emplace(place.chunk, next);
    owned.push_back({place.chunk, entry->second, place.first, place.elements});
    if (!added) continue;
    auto& chunk = chunks_.emplace_back();
    chunk.table = table;
    chunk.chunk = place.chunk;
    chunk.index = static_cast<std::uint32_t>(at->second.order.size());
    chunk.elements = place.elements;
    chunk.home = &at->second;
    chunk.follows = job->second.leads;
    if (job->second.relay_parts == 0) {
      chunk.policy = make_policy(job->second.consistency, workers);
    } else {
      auto relay = std::make_unique<relay_policy>(
          job->second.consistency, workers, job->second.relay_parts, job->second.keeps > 0);
      chunk.relay = relay.get();
      chunk.policy = std::move(relay);
    }
    for (std::uint32_t rank = 0; rank < workers; ++rank)
      if (const auto& worker = job->second.workers[rank];
          !worker.member || worker.finished || worker.joined > 0)
        chunk.policy->worker_absent(rank);
    chunk.workers.resize(workers);
    for (std::uint32_t rank = 0; rank < workers; ++rank)
      if (const auto& owner = job->second.workers[rank];
          owner.member && !owner.finished && owner.joined > 0) {
        chunk.policy->worker_joins(rank, owner.joined);
        chunk.workers[rank].next = owner.joined;
      }
    if (job->second.consistency.kind == consistency_kind::bsp &&
        chunk.policy->first_clock() > 0)
      chunk.policy->restore(chunk.version = chunk.policy->first_clock(), {});
    if (job->second.epoch != 0) begin_hold(job->second, *chunk.policy);
    chunk.readers.reserve(planes_max(workers));
    chunk.readers.push_back(0);
    at->second.order.push_back(next);
    job->second.slots.push_back(next);
  }
  return owned;
}

void shard_core::forget_table(std::uint32_t table) {
  const auto at = tables_.find(table);
  if (at == tables_.end()) return;
  std::erase_if(at->second.job->slots, [&](auto slot) { return chunks_[slot].table == table; });
  at->second.job->begun = 0;
  for (const auto slot : at->second.order) {
    if (chunks_[slot].seeding) --at->second.job->seeding;
    chunks_[slot] = {};
  }
  tables_.erase(at);
}

refusal shard_core::admit_worker(std::uint64_t token, std::uint32_t rank,
                                 std::uint32_t incarnation) {
  const auto job = jobs_.find(token);
  if (job == jobs_.end()) return refusal::unknown_job;
  if (rank >= job->second.workers.size() || !job->second.workers[rank].member)
    return refusal::unknown_worker;
  auto& worker = job->second.workers[rank];
  if (incarnation < worker.incarnation) return refusal::unknown_worker;
  if (incarnation == worker.incarnation) return refusal::none;
  worker.incarnation = incarnation;
  worker.shut_out = false;
  forget_process(job->second, rank);
  return refusal::none;
}

// What it has pushed stays.
void shard_core::forget_process(const job_state& job, std::uint32_t rank) {
  for (auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    chunk.policy->worker_replaced(rank);
    auto& at_chunk = chunk.workers[rank];
    at_chunk.pulling = false;
    at_chunk.answer_waits = false;
    at_chunk.request = 0;
    end_lease(chunk, at_chunk);
    for (auto& held : at_chunk.held) {
      held.arriving = false;  // of the one before, now a stranger
      if (is_planted(planted_bug::held_push_forgotten_at_replacement)) held = {};
    }
  }
}

std::uint64_t shard_core::first_missing(std::uint64_t token, std::uint32_t rank,
                                        std::span<const std::uint32_t> tables) const {
  auto first = clock_vector::infinity;
  for (const auto table : tables) {
    if (!has_table(token, table)) continue;
    for (const auto slot : slots_of(table)) {
      const auto& chunk = chunks_[slot];
      if (rank >= chunk.workers.size()) return first;
      const auto has = settled_below(chunk, rank);
      const bool furthest = is_planted(planted_bug::resumes_where_the_furthest_chunk_is) &&
                            first != clock_vector::infinity;
      first = furthest ? std::max(first, has) : std::min(first, has);
    }
  }
  return first;
}

std::vector<chunk_clock> shard_core::first_clocks(std::uint64_t token,
                                                  std::span<const std::uint32_t> ranks) const {
  std::vector<chunk_clock> found;
  const auto job = jobs_.find(token);
  if (job == jobs_.end()) return found;
  for (const auto slot : job->second.slots) {
    const auto& chunk = chunks_[slot];
    auto first = clock_vector::infinity;
    for (const auto rank : ranks)
      if (rank < chunk.workers.size()) first = std::min(first, settled_below(chunk, rank));
    found.push_back({chunk.table, chunk.chunk, first});
  }
  return found;
}

refusal shard_core::check_worker(const frame_tag& tag) const {
  const auto job = jobs_.find(tag.job);
  if (job == jobs_.end()) return refusal::unknown_job;
  if (job->second.closed) return refusal::job_ended;
  if (tag.epoch != job->second.epoch && !is_planted(planted_bug::stale_epoch_accepted))
    return refusal::stale_epoch;
  if (tag.rank >= job->second.workers.size()) return refusal::unknown_worker;
  const auto& worker = job->second.workers[tag.rank];
  if (worker.incarnation == 0 || worker.incarnation != tag.incarnation || worker.shut_out)
    return refusal::unknown_worker;
  return refusal::none;
}

refusal shard_core::check_table(const frame_tag& tag) const {
  if (const auto code = check_worker(tag); code != refusal::none) return code;
  return has_table(tag.job, tag.table) ? refusal::none : refusal::unknown_table;
}

bool shard_core::has_table(std::uint64_t token, std::uint32_t table) const {
  const auto at = tables_.find(table);
  return at != tables_.end() && at->second.token == token;
}

std::span<const std::uint32_t> shard_core::slots_of(std::uint32_t table) const {
  const auto at = tables_.find(table);
  if (at == tables_.end()) return {};
  return at->second.order;
}

refusal shard_core::find_chunk(const frame_tag& tag, std::uint32_t& slot) const {
  if (const auto code = check_table(tag); code != refusal::none) return code;
  const auto& slots = tables_.at(tag.table).slots;
  const auto chunk = slots.find(tag.chunk);
  if (chunk == slots.end()) return refusal::unknown_chunk;
  slot = chunk->second;
  return refusal::none;
}

// Is this clock one that the worker may push now?
refusal shard_core::check_clock(const chunk_state& chunk, const frame_tag& tag) const {
  const auto& worker = chunk.home->job->workers[tag.rank];
  if (worker.finished && tag.clock >= chunk.workers[tag.rank].next)
    return refusal::after_finish;
  // Not `settled + window`, which wraps for a clock near infinity.
  const auto settled = settled_below(chunk, tag.rank);
  if (tag.clock > settled && tag.clock - settled >= window) return refusal::beyond_window;
  const auto& held = chunk.workers[tag.rank].held[tag.clock % window];
  if (held.there && held.clock != tag.clock && tag.clock >= chunk.workers[tag.rank].next)
    return refusal::beyond_window;
  return refusal::none;
}

refusal shard_core::check_push(const frame_tag& tag, std::uint64_t payload_bytes) const {
  std::uint32_t slot = 0;
  if (const auto code = find_chunk(tag, slot); code != refusal::none) return code;
  if (payload_bytes != chunks_[slot].elements * sizeof(float)) return refusal::wrong_size;
  return check_clock(chunks_[slot], tag);
}

push_admission shard_core::begin_push(const frame_tag& tag, std::uint64_t payload_bytes) {
  using what = push_admission::what;
  if (const auto code = check_push(tag, payload_bytes); code != refusal::none)
    return {what::refuse, code};
  std::uint32_t slot = 0;
  const auto found = find_chunk(tag, slot);
  TIDEGATE_ASSERT(found == refusal::none, "check_push found it");
  auto& chunk = chunks_[slot];
  if (is_retained(chunk, tag.rank, tag.clock)) return {what::drop, refusal::none};
  if (tag.clock < chunk.policy->applied_below(tag.rank)) {
    if (!waits_for_replica(chunk, tag.rank, tag.clock)) return {what::refuse, refusal::none};
    hold_copy(chunk, tag, false);
    return {what::drop, refusal::none};
  }
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
      worker.answer_waits = false;
      for (const auto& held : worker.held) {
        if (!held.there) continue;
        const bool on_its_way = chunk.relay ? held.clock < chunk.relay->handed_on_below()
                                            : held.clock < chunk.policy->applied_below(rank);
        if (on_its_way) {
          // Upstream or to the replica, perhaps from this payload: it stays until that is
          // answered.
          TIDEGATE_RARE("shard: a job ends while a sum is on its way");
          acknowledge(chunk, tag_of(chunk, rank, held.clock, base), held.rings,
                      refusal::job_ended, out);
        } else {
          settle(chunk, rank, held.clock, base, refusal::job_ended, out);
        }
      }
      if (worker.pulling)
        answer(slot, tag_of(chunk, rank, worker.pull_clock, base), refusal::job_ended, out);
    }
  }
  flush_runs(out);
}

void shard_core::finished(const frame_tag& tag, shard_effects& out) {
  if (const auto code = check_worker(tag); code != refusal::none) {
    out.list.push_back(shard_effects::acknowledge{tag, code});
    return;
  }
  auto& job = jobs_.at(tag.job);
  has_finished(tag.job, tag.rank, out);
  if (!job.leads || is_planted(planted_bug::farewell_not_replicated)) {
    out.list.push_back(shard_effects::acknowledge{tag, refusal::none});
    return;
  }
  job.workers[tag.rank].farewell_waits = true;
  out.list.push_back(shard_effects::replicate_farewell{tag.job, tag.rank});
}

void shard_core::has_finished(std::uint64_t token, std::uint32_t rank, shard_effects& out) {
  auto& job = jobs_.at(token);
  job.workers[rank].finished = true;
  forget_behind_gaps(job, rank, out);
  for (auto slot : job.slots) {
    chunks_[slot].policy->worker_finished(rank, decisions_);
    carry_out(slot, base_of(chunks_[slot]), out);
  }
  flush_runs(out);
}

std::vector<std::uint64_t> shard_core::jobs() const {
  std::vector<std::uint64_t> tokens;
  for (const auto& [token, job] : jobs_)
    if (!job.closed) tokens.push_back(token);
  return tokens;
}

std::uint64_t shard_core::epoch_of(std::uint64_t token) const {
  const auto job = jobs_.find(token);
  return job == jobs_.end() ? 0 : job->second.epoch;
}

std::vector<std::uint64_t> shard_core::all_jobs() const {
  std::vector<std::uint64_t> tokens;
  for (const auto& [token, job] : jobs_) tokens.push_back(token);
  return tokens;
}

std::vector<std::uint32_t> shard_core::tables_of(std::uint64_t token) const {
  std::vector<std::uint32_t> found;
  for (const auto& [id, table] : tables_)
    if (table.token == token) found.push_back(id);
  return found;
}

std::vector<std::uint32_t> shard_core::finished_ranks(std::uint64_t token) const {
  std::vector<std::uint32_t> ranks;
  const auto& workers = jobs_.at(token).workers;
  for (std::uint32_t rank = 0; rank < workers.size(); ++rank)
    if (workers[rank].finished) ranks.push_back(rank);
  return ranks;
}

frame_tag shard_core::name_of(std::uint32_t slot) const {
  const auto& chunk = chunks_[slot];
  auto tag = base_of(chunk);
  tag.table = chunk.table;
  tag.chunk = chunk.chunk;
  return tag;
}

std::optional<std::uint32_t> shard_core::find_slot(std::uint64_t token, std::uint32_t table,
                                                   std::uint32_t chunk) const {
  std::uint32_t slot = 0;
  followed_step name;
  name.job = token;
  name.table = table;
  name.chunk = chunk;
  if (!find_step(name, slot)) return {};
  return slot;
}

}  // namespace tidegate::policies
