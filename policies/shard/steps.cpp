// Pushes and pulls: from a frame to the effects that it has.
#include <algorithm>
#include <utility>

#include "policies/shard/core.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;

void shard_core::push(const frame_tag& tag, payload_handle payload, shard_effects& out,
                      bool pulls) {
  const auto begin = out.list.size();
  hold_push(tag, payload, out);
  if (pulls) {
    auto next = tag;
    ++next.clock;
    park_pull(next, false, out);
  }
  flush_runs(out);
  join_answers(begin, out);
}

void shard_core::pull(const frame_tag& tag, bool everything, shard_effects& out) {
  park_pull(tag, everything, out);
  flush_runs(out);
}

void shard_core::hold_push(const frame_tag& tag, payload_handle payload, shard_effects& out) {
  std::uint32_t slot = 0;
  auto code = find_chunk(tag, slot);
  if (code == refusal::none) code = check_clock(chunks_[slot], tag);
  if (code != refusal::none) {
    if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
    out.list.push_back(shard_effects::acknowledge{tag, code});
    return;
  }
  take(chunks_[slot], tag, payload, false, out);
  carry_out(slot, tag, out);
}

void shard_core::ring(const frame_tag& tag, const ring_request& request,
                      std::span<const payload_handle> payloads, shard_effects& out) {
  auto whole = tag;
  whole.chunk = whole_table;
  const bool ends_clock = request.push || request.skip;
  if (const auto code = check_table(tag); code != refusal::none) {
    for (auto payload : payloads) out.list.push_back(shard_effects::release{payload});
    if (ends_clock) out.list.push_back(shard_effects::ring_acknowledge{whole, 0, code});
    whole.clock += ends_clock ? 1 : 0;
    if (request.pull) out.list.push_back(shard_effects::ring_reply{whole, 0, code, {}, false});
    return;
  }
  if (ends_clock) {
    ring_push(whole, payloads, out);
    ++whole.clock;
  }
  if (request.pull) ring_pull(whole, request.everything, out);
  flush_runs(out);
}

void shard_core::ring_push(const frame_tag& tag, std::span<const payload_handle> payloads,
                           shard_effects& out) {
  const auto& order = tables_.at(tag.table).order;
  TIDEGATE_ASSERT(payloads.empty() || payloads.size() == order.size(), "a payload per chunk");
  auto entry = tag;
  for (std::uint32_t index = 0; index < order.size(); ++index) {
    auto& chunk = chunks_[order[index]];
    const auto payload = payloads.empty() ? no_payload : payloads[index];
    entry.chunk = chunk.chunk;
    if (const auto code = check_clock(chunk, entry); code != refusal::none) {
      if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
      acknowledge(chunk, entry, true, code, out);
      continue;
    }
    take(chunk, entry, payload, true, out);
    carry_out(order[index], entry, out);
  }
}

// Holds the push and feeds the policy what is next in the worker's order.
void shard_core::take(chunk_state& chunk, const frame_tag& tag, payload_handle payload,
                      bool rings, shard_effects& out) {
  auto& worker = chunk.workers[tag.rank];
  auto& place = worker.held[tag.clock % window];
  // Made and not replicated yet: acknowledged then.
  const bool retained = is_retained(chunk, tag.rank, tag.clock);
  const bool is_new = !retained && tag.clock < chunk.policy->applied_below(tag.rank);
  const bool waits = is_new && waits_for_replica(chunk, tag.rank, tag.clock);
  const bool applied = is_new && !waits;
  if (is_planted(planted_bug::duplicate_applied) && applied && !chunk.relay &&
      payload != no_payload && tag.clock + window > chunk.policy->applied_below(tag.rank) &&
      !place.there) {
    place = {false, true, rings, tag.clock, payload};
    ++held_;
    decisions_.push_back({policy_decision::action::apply_one, tag.rank, tag.clock});
    return;
  }
  if (is_planted(planted_bug::lease_ended_by_an_old_push)) end_lease(chunk, worker);
  if (is_new || place.there) {  // a duplicate
    if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
    if (waits) hold_copy(chunk, tag, rings);
    if (applied) acknowledge(chunk, tag, rings, refusal::none, out);
    return;
  }
  // Who pushes has done with the parameters of that clock.
  if (worker.leased && tag.clock >= worker.pull_clock) end_lease(chunk, worker);
  place = {false, true, rings, tag.clock, payload};
  ++held_;
  if (is_planted(planted_bug::acknowledged_before_applied))
    acknowledge(chunk, tag, rings, refusal::none, out);
  const auto end = std::max(chunk.policy->applied_below(tag.rank),
                            chunk.home->job->workers[tag.rank].joined) +
                   window;
  const auto is_here = [&](std::uint64_t clock) {
    const auto& held = worker.held[clock % window];
    return held.there && held.clock == clock;
  };
  while (worker.next < end && is_here(worker.next)) {
    ++worker.next;
    chunk.policy->push_arrived(tag.rank, worker.next - 1, decisions_);
  }
}

void shard_core::carry_out(std::uint32_t slot, const frame_tag& base, shard_effects& out) {
  auto& chunk = chunks_[slot];
  bool answered = false;
  for (const auto& decision : decisions_) {
    using action = policy_decision::action;
    if (decision.kind == action::apply_one || decision.kind == action::apply_clock) {
      // Two pushes that waited for one another: what the first one allows is answered before
      // the second one is applied.
      if (std::exchange(answered, false)) flush_runs(out);
      apply(slot, decision, base, out);
      continue;
    }
    if (decision.kind == action::hand_on) {
      hand_on(slot, decision.clock, out);
      continue;
    }
    if (decision.kind == action::settle) {
      settle_clock(chunk, decision.clock, base, out);
      continue;
    }
    if (decision.kind == action::ask) {
      out.list.push_back(shard_effects::ask{slot});
      continue;
    }
    auto code = refusal::none;
    if (decision.kind == action::too_late && !kept_of(chunk, decision.clock))
      code = chunk.refused == refusal::none ? refusal::too_late : chunk.refused;
    answer(slot, tag_of(chunk, decision.rank, decision.clock, base), code, out);
    answered = true;
  }
  decisions_.clear();
  // Under bsp also between two versions: see apply.
  if (cut_is_due(chunk)) take_cut(slot, out);
}

void shard_core::apply(std::uint32_t slot, const policy_decision& decision,
                       const frame_tag& base, shard_effects& out) {
  auto& chunk = chunks_[slot];
  const bool all = decision.kind == policy_decision::action::apply_clock;
  const std::uint32_t begin = all ? 0 : decision.rank;
  const auto end = all ? static_cast<std::uint32_t>(chunk.workers.size()) : decision.rank + 1;
  const auto first = static_cast<std::uint32_t>(out.inputs.size());
  const auto count = list_inputs(chunk, begin, end, decision.clock, out);
  if (count > 0) plant(chunk, first, decision.clock, out);
  const auto team = chunk.home->job->membership.team(decision.clock);
  make_step(slot, first, count, team, out);
  if (chunk.follows) {
    retain(slot, decision, count, team, out);
    const auto& job = *chunk.home->job;
    for (std::uint32_t rank = begin; job.changes > 0 && rank < end; ++rank)
      if (job.workers[rank].joined > decision.clock) orphan(chunk, rank, out);
  } else {
    for (std::uint32_t rank = begin; rank < end; ++rank)
      if (is_held(chunk, rank, decision.clock))
        settle(chunk, rank, decision.clock, base, refusal::none, out);
  }
  if (all && cut_is_due(chunk)) take_cut(slot, out);
}

// To the next version, which without inputs is the same.
void shard_core::make_step(std::uint32_t slot, std::uint32_t first, std::uint32_t count,
                           std::uint32_t team, shard_effects& out) {
  auto& chunk = chunks_[slot];
  const auto from = chunk.plane;
  if (chunk.home->job->keeps > 0) keep(chunk, from, chunk.version);
  if (count > 0) {
    chunk.plane = free_plane(chunk);
    out.list.push_back(shard_effects::apply{slot, first, count, from, chunk.plane, team});
  }
  ++chunk.version;
}

// Counts as a reader, so that no step writes there. The oldest that is kept goes.
void shard_core::keep(chunk_state& chunk, std::uint32_t plane, std::uint64_t version) {
  auto& kept = chunk.kept;
  const auto last =
      is_planted(planted_bug::older_version_not_kept) ? 0 : chunk.home->job->keeps - 1;
  if (kept[last].plane != none_open) --chunk.readers[kept[last].plane];
  std::copy_backward(kept.begin(), kept.begin() + last, kept.begin() + last + 1);
  kept[0] = {plane, version};
  ++chunk.readers[plane];
}

const shard_core::kept_version* shard_core::kept_of(const chunk_state& chunk,
                                                    std::uint64_t clock) {
  for (const auto& version : chunk.kept)
    if (version.plane != none_open && version.version == clock) return &version;
  return nullptr;
}

// Mistakes with what is summed; see planted.hpp.
void shard_core::plant(chunk_state& chunk, std::uint32_t first, std::uint64_t clock,
                       shard_effects& out) {
  const auto inputs = std::span(out.inputs).subspan(first);
  if (is_planted(planted_bug::sum_in_order_of_arrival)) {
    const auto payload = inputs.front().payload;
    for (std::size_t i = 0; i + 1 < inputs.size(); ++i)
      inputs[i].payload = inputs[i + 1].payload;
    inputs.back().payload = payload;
  }
  if (is_planted(planted_bug::payload_given_back_early) && chunk.version % 3 == 2) {
    out.list.push_back(shard_effects::release{inputs.front().payload});
    chunk.workers[inputs.front().rank].held[clock % window].payload = no_payload;
  }
}

std::uint32_t shard_core::list_inputs(const chunk_state& chunk, std::uint32_t begin,
                                      std::uint32_t end, std::uint64_t clock,
                                      shard_effects& out) {
  std::uint32_t count = 0;
  for (std::uint32_t rank = begin; rank < end; ++rank) {
    const auto& held = chunk.workers[rank].held[clock % window];
    if (!is_held(chunk, rank, clock) || held.payload == no_payload) continue;
    out.inputs.push_back({rank, held.payload});
    ++count;
  }
  return count;
}

// Where the next version goes: in place if nobody reads the current one.
std::uint32_t shard_core::free_plane(chunk_state& chunk) {
  if (is_planted(planted_bug::lease_ignored)) return chunk.plane;
  const bool moves = TIDEGATE_BUGGIFY("shard: a step changes planes");
  if (moves) ++chunk.readers[chunk.plane];  // as if
  const auto found = chunk.readers[chunk.plane] == 0
                         ? chunk.readers.begin() + chunk.plane
                         : std::find(chunk.readers.begin(), chunk.readers.end(), 0U);
  const auto plane = static_cast<std::uint32_t>(found - chunk.readers.begin());
  if (found == chunk.readers.end()) chunk.readers.push_back(0);
  if (moves) --chunk.readers[chunk.plane];
  TIDEGATE_ASSERT(plane < planes_max(static_cast<std::uint32_t>(chunk.workers.size())),
                  "readers are bounded");
  return plane;
}

void shard_core::end_lease(chunk_state& chunk, worker_at_chunk& worker) {
  if (!std::exchange(worker.leased, false)) return;
  --chunk.readers[worker.lease.plane];
}

bool shard_core::sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t plane) {
  auto& chunk = chunks_[slot];
  auto& worker = chunk.workers[rank];
  TIDEGATE_ASSERT(worker.sending > 0 && chunk.readers[plane] > 0, "a reply was under way");
  --worker.sending;
  --chunk.readers[plane];
  return worker.answer_waits;
}

// The push of (rank, clock) is in the parameters, or will never be: free its payload, answer
// it.
void shard_core::settle(chunk_state& chunk, std::uint32_t rank, std::uint64_t clock,
                        const frame_tag& base, refusal code, shard_effects& out) {
  auto& held = chunk.workers[rank].held[clock % window];
  TIDEGATE_ASSERT(held.there, "an applied push was held");
  if (held.payload != no_payload && !(is_planted(planted_bug::credit_leaked) && clock % 3 == 2))
    out.list.push_back(shard_effects::release{held.payload});
  const bool rings = held.rings;
  held = {};
  --held_;
  acknowledge(chunk, tag_of(chunk, rank, clock, base), rings, code, out);
}

frame_tag shard_core::tag_of(const chunk_state& chunk, std::uint32_t rank, std::uint64_t clock,
                             const frame_tag& base) {
  frame_tag tag = base;
  tag.rank = rank;
  tag.clock = clock;
  tag.table = chunk.table;
  tag.chunk = chunk.chunk;
  tag.request = chunk.workers[rank].request;
  tag.incarnation = chunk.home->job->workers[rank].incarnation;
  return tag;
}

void shard_core::acknowledge(const chunk_state& chunk, const frame_tag& tag, bool rings,
                             refusal code, shard_effects& out) {
  if (rings)
    add_to_run(chunk, {false, tag, 1, code, {}, false, false});
  else
    out.list.push_back(shard_effects::acknowledge{tag, code});
}

}  // namespace tidegate::policies
