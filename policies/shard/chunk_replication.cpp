#include "policies/shard/chunk_replication.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

void chunk_replication::add_chunk(const job_record& job) {
  chunks_.emplace_back().follows = jobs_[job.token].leads;
}

void chunk_replication::forget_chunk(const chunk_record& chunk) {
  auto& led = jobs_[chunk.job().token];
  led.begun = 0;
  if (chunks_[chunk.slot].seeding) --led.seeding;
  chunks_[chunk.slot] = {};
}

bool chunk_replication::waits_for(std::uint32_t slot, std::uint32_t rank,
                                  std::uint64_t clock) const {
  if (is_planted(planted_bug::copy_acknowledged_before_replicated)) return false;
  const auto& steps = chunks_[slot].steps;
  return std::any_of(steps.begin(), steps.end(), [&](const step_to_replicate& step) {
    return step.clock == clock && (step.rank == all_ranks || step.rank == rank);
  });
}

bool chunk_replication::waits_for(std::uint32_t slot, std::uint64_t version) const {
  const auto& steps = chunks_[slot].steps;
  return std::any_of(steps.begin(), steps.end(),
                     [&](const step_to_replicate& step) { return step.version == version; });
}

void chunk_replication::lead(std::uint64_t token, bool has_all, shard_effects& out) {
  const auto& job = state_.registry.job(token);
  if (!has_all) lead_nobody(token, out);
  auto& led = jobs_[token];
  led.leads = true;
  led.begun = 0;
  for (const auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    chunk.follows = has_all;
    TIDEGATE_ASSERT(!chunk.seeding, "whoever has all is not being given anything");
    if (!chunk.steps.empty())
      TIDEGATE_RARE("shard: a step is handed to the replica of the one that died");
    replicate_next(slot, out);
  }
}

void chunk_replication::lead_nobody(std::uint64_t token, shard_effects& out) {
  const auto& job = state_.registry.job(token);
  auto& led = jobs_[token];
  if (!std::exchange(led.leads, false)) return;
  led.begun = led.seeding = 0;
  for (const auto slot : job.slots) {
    auto& chunk = chunks_[slot];
    chunk.follows = chunk.seeding = false;
    for (const auto& step : std::exchange(chunk.steps, {})) settle(slot, step, out);
  }
  state_.replies.flush(out);
  for (std::uint32_t rank = 0; rank < job.ranks.size(); ++rank)
    farewell_replicated(token, rank, out);
}

void chunk_replication::retain(const chunk_record& chunk, const policy_decision& decision,
                               std::uint32_t inputs, std::uint32_t contributors,
                               shard_effects& out) {
  const auto [kind, rank, clock] = decision;
  const bool all = kind == policy_decision::action::apply_clock;
  step_to_replicate step{.version = chunk.versions.version(),
                         .rank = all ? all_ranks : rank,
                         .clock = clock,
                         .contributors = contributors,
                         .squares = state_.norms.of(chunk.job(), clock),
                         .inputs = inputs};
  if (inputs > 0) step.rate = std::get<shard_effects::apply>(out.list.back()).rate;
  if (inputs == 1) step.payload = out.inputs.back().payload;
  if (inputs > 1) keep_sum(out);
  if (is_planted(planted_bug::acknowledged_before_replicated) && !all)
    acknowledge_early(chunk, rank, clock, out);
  add(chunk, step, out);
}

// Planted: the worker hears of a step that no replica has.
void chunk_replication::acknowledge_early(const chunk_record& chunk, std::uint32_t rank,
                                          std::uint64_t clock, shard_effects& out) {
  const auto tag = state_.registry.tag_of(chunk, rank, clock, chunk_registry::base_of(chunk));
  const bool in_place = state_.pushes.in_place(chunk.slot, rank, clock);
  state_.replies.acknowledge(chunk, tag, in_place, reply_code::ok, out);
}

void chunk_replication::hand_on(const chunk_record& chunk, const step_to_replicate& step,
                                shard_effects& out) {
  if (step.inputs > 0) keep_sum(out);
  add(chunk, step, out);
}

void chunk_replication::keep_sum(shard_effects& out) {
  std::get<shard_effects::apply>(out.list.back()).keeps_sum = true;
}

// The replica makes one step of a chunk after the other; what comes behind waits here.
void chunk_replication::add(const chunk_record& chunk, const step_to_replicate& step,
                            shard_effects& out) {
  auto& led = chunks_[chunk.slot];
  led.steps.push_back(step);
  if (led.steps.size() == 1 && !led.seeding) replicate_next(chunk.slot, out);
}

void chunk_replication::replicate_next(std::uint32_t slot, shard_effects& out) const {
  const auto& steps = chunks_[slot].steps;
  if (steps.empty()) return;
  const auto& step = steps.front();
  out.list.push_back(shard_effects::replicate{.slot = slot,
                                              .version = step.version,
                                              .rank = step.rank,
                                              .clock = step.clock,
                                              .contributors = step.contributors,
                                              .rate = step.rate,
                                              .squares = step.squares,
                                              .skips = step.inputs == 0,
                                              .payload = step.payload});
}

void chunk_replication::replicated(std::span<const std::uint32_t> slots, std::uint64_t version,
                                   shard_effects& out) {
  for (const auto slot : slots) {
    auto& steps = chunks_[slot].steps;
    if (steps.empty() || steps.front().version != version) continue;
    const auto step = steps.front();
    steps.erase(steps.begin());
    settle(slot, step, out);
    replicate_next(slot, out);
  }
  state_.replies.flush(out);
}

// Answers the pushes of a step, or the process before this one.
void chunk_replication::settle(std::uint32_t slot, const step_to_replicate& step,
                               shard_effects& out) {
  const auto& chunk = state_.registry.chunk(slot);
  const auto& job = chunk.job();
  if (job.epoch == 0) {  // a replica, which has said so to nobody yet
    out.list.push_back(shard_effects::followed{slot, step.version});
    return;
  }
  if (step.owns_payload) out.list.push_back(shard_effects::release{step.payload});
  const bool all = step.rank == all_ranks;
  const auto end = all ? chunk.ranks() : step.rank + 1;
  for (auto rank = all ? 0 : step.rank; rank < end; ++rank) {
    if (!state_.pushes.is_here(slot, rank, step.clock)) continue;
    if (job.closed)  // its worker has been told that the job has ended
      state_.pushes.discard(slot, rank, step.clock, out);
    else
      state_.pushes.settle(chunk, rank, step.clock, chunk_registry::base_of(chunk),
                           reply_code::ok, out);
  }
}

bool chunk_replication::take_payload(std::uint32_t slot, payload_handle payload) {
  bool found = false;
  for (auto& step : chunks_[slot].steps)
    if (step.payload == payload) step.owns_payload = found = true;
  return found;
}

bool chunk_replication::await_farewell(std::uint64_t token, std::uint32_t rank,
                                       shard_effects& out) {
  auto& led = jobs_[token];
  if (!led.leads || is_planted(planted_bug::farewell_not_replicated)) return false;
  led.farewells.insert(rank);
  out.list.push_back(shard_effects::replicate_farewell{token, rank});
  return true;
}

void chunk_replication::farewell_replicated(std::uint64_t token, std::uint32_t rank,
                                            shard_effects& out) {
  const auto at = jobs_.find(token);
  if (at == jobs_.end() || at->second.farewells.erase(rank) == 0) return;
  const auto& job = state_.registry.job(token);
  frame_tag tag;
  tag.job = token;
  tag.epoch = job.epoch;
  tag.incarnation = job.ranks[rank].incarnation;
  tag.rank = rank;
  tag.chunk = whole_table;
  out.list.push_back(shard_effects::acknowledge{tag, reply_code::ok});
}

// Returns true if every chunk follows, or has been begun to be handed over. There may be a
// million chunks, and this is asked for each of them.
bool chunk_replication::all_begun(const job_record& job) {
  auto& begun = jobs_[job.token].begun;
  while (begun < job.slots.size() && chunks_[job.slots[begun]].follows) ++begun;
  return begun == job.slots.size();
}

std::optional<std::uint32_t> chunk_replication::next_to_seed(std::uint64_t token) {
  const auto& job = state_.registry.job(token);
  const auto& led = jobs_[token];
  if (!led.leads || all_begun(job)) return {};
  return job.slots[led.begun];
}

bool chunk_replication::all_seeded(std::uint64_t token) {
  return all_begun(state_.registry.job(token)) && jobs_[token].seeding == 0;
}

void chunk_replication::seed(std::uint32_t slot, shard_effects& out) {
  const auto& chunk = state_.registry.chunk(slot);
  auto& led = chunks_[slot];
  TIDEGATE_ASSERT(!led.follows && led.steps.empty(), "handed over once");
  led.follows = led.seeding = true;
  ++jobs_[chunk.job().token].seeding;
  led.seeded = {.now = state_.snapshots.progress(slot),
                .kept = {},
                .norm = state_.norms.last_before(chunk.job(), chunk.versions.version())};
  shard_effects::seed seed{.slot = slot,
                           .version_buffer = chunk.versions.version_buffer(),
                           .kept = {no_version_buffer, no_version_buffer}};
  const auto& kept = chunk.versions.kept();
  for (std::size_t i = 0; i < versions_kept_max && kept[i].version_buffer != no_version_buffer;
       ++i) {
    seed.kept[i] = kept[i].version_buffer;
    led.seeded.kept.push_back(kept[i].version);
  }
  out.list.push_back(seed);
}

void chunk_replication::seeded(std::uint32_t slot, std::uint64_t version, shard_effects& out) {
  auto& led = chunks_[slot];
  if (!led.seeding || led.seeded.now.version != version) return;
  led.seeding = false;
  --jobs_[state_.registry.chunk(slot).job().token].seeding;
  replicate_next(slot, out);
}

}  // namespace tidegate::policies::sharding
