#include "policies/shard/push_window.hpp"

#include <algorithm>

#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

namespace {

// Planted: each input is summed in the place of the next.
void rotate_payloads(std::span<shard_effects::input> inputs) {
  const auto first = inputs.front().payload;
  for (std::size_t i = 0; i + 1 < inputs.size(); ++i) inputs[i].payload = inputs[i + 1].payload;
  inputs.back().payload = first;
}

}  // namespace

reply_code push_window::check(const frame_tag& tag, std::uint64_t payload_bytes,
                              std::uint32_t& slot) const {
  if (const auto code = state_.registry.find_chunk(tag, slot); code != reply_code::ok)
    return code;
  const auto& chunk = state_.registry.chunk(slot);
  if (!chunk.takes_gradient(payload_bytes)) return reply_code::wrong_size;
  return check_clock(chunk, tag);
}

// Returns ok if the worker may push this clock now.
reply_code push_window::check_clock(const chunk_record& chunk, const frame_tag& tag) const {
  const auto expected = next(chunk.slot, tag.rank);
  if (chunk.job().ranks[tag.rank].finished && tag.clock >= expected)
    return reply_code::after_finish;
  // Not `settled + window`, which wraps for a clock near infinity.
  const auto settled = settled_below(chunk, tag.rank);
  if (tag.clock > settled && tag.clock - settled >= window) return reply_code::beyond_window;
  const auto& held = at(chunk.slot, tag.rank, tag.clock);
  if (held.there && held.clock != tag.clock && tag.clock >= expected)
    return reply_code::beyond_window;
  return reply_code::ok;
}

push_admission push_window::begin(const frame_tag& tag, std::uint64_t payload_bytes) {
  using verdict = push_admission::verdict;
  std::uint32_t slot = 0;
  if (const auto code = check(tag, payload_bytes, slot); code != reply_code::ok)
    return {verdict::refuse, code};
  const auto& chunk = state_.registry.chunk(slot);
  if (is_retained(chunk, tag.rank, tag.clock)) return {verdict::drop, reply_code::ok};
  if (tag.clock < chunk.policy->applied_below(tag.rank)) {
    if (!state_.replication.waits_for(slot, tag.rank, tag.clock))
      return {verdict::refuse, reply_code::ok};
    hold_copy(chunk, tag, false);
    return {verdict::drop, reply_code::ok};
  }
  auto& place = place_of(slot, tag.rank, tag.clock);
  if (place.there || place.arriving) return {verdict::drop, reply_code::ok};
  place.arriving = true;
  place.clock = tag.clock;
  return {verdict::take, reply_code::ok};
}

void push_window::cancel(const frame_tag& tag) {
  std::uint32_t slot = 0;
  if (state_.registry.find_chunk(tag, slot) != reply_code::ok) return;
  auto* const pushes = chunks_[slot].find(tag.rank);
  if (pushes == nullptr) return;
  auto& place = pushes->held[tag.clock % window];
  if (place.clock == tag.clock) place.arriving = false;
}

void push_window::push(const frame_tag& tag, payload_handle payload, shard_effects& out) {
  std::uint32_t slot = 0;
  auto code = state_.registry.find_chunk(tag, slot);
  if (code == reply_code::ok) code = check_clock(state_.registry.chunk(slot), tag);
  if (code != reply_code::ok) {
    if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
    out.list.push_back(shard_effects::acknowledge{tag, code});
    return;
  }
  auto& chunk = state_.registry.chunk(slot);
  take(chunk, tag, payload, false, out);
  state_.steps.carry_out(chunk, tag, out);
}

void push_window::push_run(const frame_tag& tag, std::span<const std::uint32_t> slots,
                           std::span<const payload_handle> payloads, shard_effects& out) {
  TIDEGATE_ASSERT(payloads.empty() || payloads.size() == slots.size(), "a payload per chunk");
  auto entry = tag;
  for (std::size_t index = 0; index < slots.size(); ++index) {
    auto& chunk = state_.registry.chunk(slots[index]);
    const auto payload = payloads.empty() ? no_payload : payloads[index];
    entry.chunk = chunk.chunk;
    if (const auto code = check_clock(chunk, entry); code != reply_code::ok) {
      if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
      state_.replies.acknowledge(chunk, entry, true, code, out);
      continue;
    }
    take(chunk, entry, payload, true, out);
    state_.steps.carry_out(chunk, entry, out);
  }
}

// Planted: a push that is in the parameters makes another step, where there is room to hold it.
bool push_window::apply_twice(const chunk_record& chunk, const frame_tag& tag,
                              payload_handle payload, bool in_place) {
  const auto applied_below = chunk.policy->applied_below(tag.rank);
  if (chunk.relay || payload == no_payload || tag.clock + window <= applied_below) return false;
  hold(place_of(chunk.slot, tag.rank, tag.clock), tag, payload, in_place);
  state_.steps.decisions().push_back({policy_decision::action::apply_one, tag.rank, tag.clock});
  return true;
}

// Holds the push and feeds the policy what is next in the worker's order.
void push_window::take(chunk_record& chunk, const frame_tag& tag, payload_handle payload,
                       bool in_place, shard_effects& out) {
  auto& place = place_of(chunk.slot, tag.rank, tag.clock);
  const auto applied_below = chunk.policy->applied_below(tag.rank);
  // A step has been made with it that is not replicated yet: it is acknowledged then.
  const bool retained = is_retained(chunk, tag.rank, tag.clock);
  const bool is_new = !retained && tag.clock < applied_below;
  const bool waits = is_new && state_.replication.waits_for(chunk.slot, tag.rank, tag.clock);
  const bool applied = is_new && !waits;
  if (is_planted(planted_bug::duplicate_applied) && applied && !place.there)
    if (apply_twice(chunk, tag, payload, in_place)) return;
  if (is_planted(planted_bug::lease_ended_by_an_old_push))
    state_.pulls.end_lease(chunk, tag.rank);
  if (is_new || place.there) {  // a duplicate
    if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
    if (waits) hold_copy(chunk, tag, in_place);
    if (applied) state_.replies.acknowledge(chunk, tag, in_place, reply_code::ok, out);
    state_.norms.tell(chunk, tag, out);
    return;
  }
  state_.pulls.pushed(chunk, tag.rank, tag.clock);
  hold(place, tag, payload, in_place);
  if (is_planted(planted_bug::acknowledged_before_applied))
    state_.replies.acknowledge(chunk, tag, in_place, reply_code::ok, out);
  feed_policy(chunk, tag.rank);
}

void push_window::feed_policy(const chunk_record& chunk, std::uint32_t rank) {
  auto& pushes = chunks_[chunk.slot].change(rank);
  const auto end =
      std::max(chunk.policy->applied_below(rank), chunk.job().ranks[rank].joined) + window;
  while (pushes.next < end && is_here(chunk.slot, rank, pushes.next)) {
    ++pushes.next;
    state_.arrivals.arrived(chunk.job(), rank, pushes.next - 1);
    chunk.policy->push_arrived(rank, pushes.next - 1, state_.steps.decisions());
  }
}

void push_window::hold(held_push& place, const frame_tag& tag, payload_handle payload,
                       bool in_place) {
  place = {.there = true,
           .in_place = in_place,
           .clock = tag.clock,
           .payload = payload,
           .rate = tag.rate};
  ++held_;
}

// Holds a push whose step is on its way to the replica, to acknowledge it with that. Nobody
// needs its gradient.
void push_window::hold_copy(const chunk_record& chunk, const frame_tag& tag, bool in_place) {
  auto& place = place_of(chunk.slot, tag.rank, tag.clock);
  if (place.there || place.arriving) return;
  TIDEGATE_RARE("shard: a push comes again while its step is on its way to the replica");
  hold(place, tag, no_payload, in_place);
}

// The only way out for a push that is held.
void push_window::give_back(held_push& held, shard_effects& out) {
  if (held.payload != no_payload) out.list.push_back(shard_effects::release{held.payload});
  held = {};
  --held_;
}

void push_window::settle(const chunk_record& chunk, std::uint32_t rank, std::uint64_t clock,
                         const frame_tag& base, reply_code code, shard_effects& out) {
  auto& held = place_of(chunk.slot, rank, clock);
  TIDEGATE_ASSERT(held.there, "an applied push was held");
  if (is_planted(planted_bug::credit_leaked) && clock % 3 == 2) held.payload = no_payload;
  const bool in_place = held.in_place;
  give_back(held, out);
  state_.replies.acknowledge(chunk, state_.registry.tag_of(chunk, rank, clock, base), in_place,
                             code, out);
}

void push_window::discard(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock,
                          shard_effects& out) {
  if (is_here(slot, rank, clock)) give_back(place_of(slot, rank, clock), out);
}

void push_window::close(const chunk_record& chunk, std::uint32_t rank, shard_effects& out) {
  const auto base = chunk_registry::base_of(chunk);
  for (const auto& held : chunks_[chunk.slot].at(rank).held) {
    if (!held.there) continue;
    const bool on_its_way = chunk.relay ? held.clock < chunk.relay->handed_on_below()
                                        : held.clock < chunk.policy->applied_below(rank);
    if (on_its_way) {
      TIDEGATE_RARE("shard: a job ends while a sum is on its way");
      state_.replies.acknowledge(chunk, state_.registry.tag_of(chunk, rank, held.clock, base),
                                 held.in_place, reply_code::job_ended, out);
    } else {
      settle(chunk, rank, held.clock, base, reply_code::job_ended, out);
    }
  }
}

void push_window::forget_behind_gaps(const job_record& job, std::uint32_t rank,
                                     shard_effects& out) {
  for (const auto slot : job.slots) {
    auto* const pushes = chunks_[slot].find(rank);
    if (pushes == nullptr) continue;
    for (auto& held : pushes->held) {
      if (!held.there || held.clock < pushes->next) continue;
      TIDEGATE_RARE("shard: a push of a worker that left has a gap before it");
      give_back(held, out);
    }
  }
}

void push_window::orphan(const chunk_record& chunk, std::uint32_t rank, shard_effects& out) {
  const auto joined = chunk.job().ranks[rank].joined;
  auto* const pushes = chunks_[chunk.slot].find(rank);
  if (pushes == nullptr) return;
  for (auto& held : pushes->held) {
    // A policy that closes two clocks at once is past both before the first is carried out.
    const bool is_earlier = held.there && held.clock < joined;
    if (!is_earlier || !is_retained(chunk, rank, held.clock)) continue;
    if (held.payload != no_payload && state_.replication.take_payload(chunk.slot, held.payload))
      held.payload = no_payload;
    give_back(held, out);
  }
}

void push_window::forget_process(std::uint32_t slot, std::uint32_t rank) {
  auto* const pushes = chunks_[slot].find(rank);
  if (pushes == nullptr) return;
  for (auto& held : pushes->held) {
    held.arriving = false;  // of the one before, now a stranger
    if (is_planted(planted_bug::held_push_forgotten_at_replacement)) held = {};
  }
}

std::uint32_t push_window::list_inputs(std::uint32_t slot, std::uint32_t begin,
                                       std::uint32_t end, std::uint64_t clock,
                                       shard_effects& out) const {
  std::uint32_t count = 0;
  for (std::uint32_t rank = begin; rank < end; ++rank) {
    const auto& held = at(slot, rank, clock);
    if (!is_held(slot, rank, clock) || held.payload == no_payload) continue;
    out.inputs.push_back({.rank = rank, .payload = held.payload, .rate = held.rate});
    ++count;
  }
  return count;
}

void push_window::plant(const chunk_record& chunk, std::uint32_t first, std::uint64_t clock,
                        shard_effects& out) {
  const auto inputs = std::span(out.inputs).subspan(first);
  if (is_planted(planted_bug::sum_in_order_of_arrival)) rotate_payloads(inputs);
  if (is_planted(planted_bug::payload_given_back_early) && chunk.versions.version() % 3 == 2) {
    out.list.push_back(shard_effects::release{inputs.front().payload});
    place_of(chunk.slot, inputs.front().rank, clock).payload = no_payload;
  }
}

bool push_window::is_held(std::uint32_t slot, std::uint32_t rank, std::uint64_t clock) const {
  return next(slot, rank) > clock && is_here(slot, rank, clock);
}

bool push_window::is_any_held(std::uint32_t slot, std::uint64_t clock) const {
  const auto touched = static_cast<std::uint32_t>(chunks_[slot].all().size());
  for (std::uint32_t rank = 0; rank < touched; ++rank)
    if (is_held(slot, rank, clock)) return true;
  return false;
}

// Returns true if a step has been made with it, and the replica has not made it yet.
bool push_window::is_retained(const chunk_record& chunk, std::uint32_t rank,
                              std::uint64_t clock) const {
  return is_here(chunk.slot, rank, clock) && clock < chunk.policy->applied_below(rank);
}

bool push_window::holds_unapplied(const chunk_record& chunk, std::uint32_t rank) const {
  const auto& held = chunks_[chunk.slot].at(rank).held;
  return std::any_of(held.begin(), held.end(), [&](const held_push& push) {
    return push.there && !is_retained(chunk, rank, push.clock);
  });
}

std::uint64_t push_window::settled_below(const chunk_record& chunk, std::uint32_t rank) const {
  const auto joined = chunk.job().ranks[rank].joined;
  auto below =
      std::min(next(chunk.slot, rank), std::max(chunk.policy->applied_below(rank), joined));
  while (below > joined && (is_retained(chunk, rank, below - 1) ||
                            state_.replication.waits_for(chunk.slot, rank, below - 1)))
    --below;
  return below;
}

}  // namespace tidegate::policies::sharding
