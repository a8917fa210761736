#include "policies/shard/pull_tracker.hpp"

#include <algorithm>
#include <utility>

#include "policies/shard/state.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/frame_header.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies::sharding {

using runtime::is_planted;
using runtime::planted_bug;

namespace {

// Of a worker at a chunk. One that is answered had fewer, so that its replies and its lease,
// which ends with its next pull, are never more together: version_buffers_max.
constexpr std::uint8_t replies_under_way_max = 2;

// Returns the current version, but for a worker that has come back to a clock before.
shard_effects::version_at version_for(const chunk_record& chunk, std::uint64_t clock) {
  const auto& versions = chunk.versions;
  const auto* kept = versions.version() == clock ? nullptr : versions.find_kept(clock);
  if (kept && !is_planted(planted_bug::previous_version_not_kept)) {
    TIDEGATE_RARE("shard: a worker comes back to a version before");
    return {.version_buffer = kept->version_buffer,
            .version = kept->version,
            .min_clock = kept->version};
  }
  return {.version_buffer = versions.version_buffer(),
          .version = versions.version(),
          .min_clock = chunk.policy->complete_below()};
}

}  // namespace

// Returns false when the pull is a duplicate, or refused with `code`.
bool pull_tracker::begin(chunk_record& chunk, const frame_tag& tag, bool in_place,
                         reply_code& code) {
  auto& last = chunks_[chunk.slot].change(tag.rank);
  // A duplicate, answered already or when due, or a late one whose worker went on.
  if (tag.request <= last.request && !is_planted(planted_bug::resent_pull_answered_twice))
    return false;
  if (last.pulling) {
    if (tag.clock == last.clock && in_place == last.in_place && last.call == no_payload) {
      TIDEGATE_RARE("shard: a parked pull is asked for again");
      last.request = tag.request;  // answered when due, under the new number
    } else {
      code = reply_code::pull_under_way;
    }
    return false;
  }
  end_lease(chunk, tag.rank);
  last.in_place = in_place;
  park(last, tag.clock, tag.request);
  return true;
}

void pull_tracker::park(rank_pulls& last, std::uint64_t clock, std::uint64_t request) {
  forget_call(last);
  last.answer_waits = false;
  last.pulling = true;
  last.clock = clock;
  last.request = request;
}

// Likewise. One that comes again while it is parked is dropped by begin_call().
bool pull_tracker::take_call(chunk_record& chunk, const frame_tag& tag, payload_handle payload,
                             reply_code& code) {
  auto& last = chunks_[chunk.slot].change(tag.rank);
  last.call_arrives = false;
  // Its number may have been passed by that of the same call, which has been dropped since.
  const auto request = std::max(tag.request, last.call_request);
  if (request <= last.request) return false;
  if (last.pulling) {
    code = reply_code::pull_under_way;
    return false;
  }
  if (is_planted(planted_bug::call_ends_the_lease)) end_lease(chunk, tag.rank);
  park(last, tag.clock, request);
  last.call = payload;
  return true;
}

void pull_tracker::forget_call(rank_pulls& last) {
  if (last.call != no_payload) orphans_.push_back(std::exchange(last.call, no_payload));
}

void pull_tracker::release_orphans(shard_effects& out) {
  for (const auto payload : orphans_) out.list.push_back(shard_effects::release{payload});
  orphans_.clear();
}

// One payload of a rank and chunk is here or on its way: a call that comes again is told by its
// number alone.
push_admission pull_tracker::begin_call(const frame_tag& tag, std::uint64_t payload_bytes) {
  using verdict = push_admission::verdict;
  std::uint32_t slot = 0;
  if (const auto code = state_.registry.find_chunk(tag, slot); code != reply_code::ok)
    return {verdict::refuse, code};
  const bool has_rows = state_.registry.has_rows(tag.table);
  if (has_rows ? !is_row_payload(payload_bytes) : payload_bytes != runtime::call_payload_bytes)
    return {verdict::refuse, reply_code::wrong_size};
  auto& last = chunks_[slot].change(tag.rank);
  if (tag.request <= std::max(last.request, last.call_request)) return {verdict::drop};
  const bool is_parked = last.pulling && last.call != no_payload && last.clock == tag.clock;
  last.call_request = tag.request;
  if (is_parked) last.request = tag.request;
  if (is_parked || last.call_arrives) {
    TIDEGATE_RARE("shard: a call comes again that is here or on its way");
    return {verdict::drop};
  }
  last.call_arrives = true;
  return {verdict::take};
}

std::uint64_t pull_tracker::cancel_call(const frame_tag& tag) {
  std::uint32_t slot = 0;
  if (state_.registry.find_chunk(tag, slot) != reply_code::ok) return tag.request;
  auto& last = chunks_[slot].change(tag.rank);
  last.call_arrives = false;
  return std::max(tag.request, std::exchange(last.call_request, last.request));
}

void pull_tracker::call(const frame_tag& tag, payload_handle payload, bool is_final,
                        shard_effects& out) {
  release_orphans(out);
  std::uint32_t slot = 0;
  auto code = state_.registry.find_chunk(tag, slot);
  const bool begun =
      code == reply_code::ok && take_call(state_.registry.chunk(slot), tag, payload, code);
  if (!begun) out.list.push_back(shard_effects::release{payload});
  go_on(slot, tag, is_final, begun, code, out);
}

void pull_tracker::pull(const frame_tag& tag, bool is_final, shard_effects& out) {
  release_orphans(out);
  std::uint32_t slot = 0;
  auto code = state_.registry.find_chunk(tag, slot);
  // A part of a table of rows is asked for certain rows, by a call.
  if (code == reply_code::ok && state_.registry.has_rows(tag.table))
    code = reply_code::wrong_size;
  const bool begun =
      code == reply_code::ok && begin(state_.registry.chunk(slot), tag, false, code);
  go_on(slot, tag, is_final, begun, code, out);
}

// What follows from a pull or call that is parked now, or is refused with `code`, or is a
// duplicate.
void pull_tracker::go_on(std::uint32_t slot, const frame_tag& tag, bool is_final, bool begun,
                         reply_code code, shard_effects& out) {
  if (begun) {
    auto& chunk = state_.registry.chunk(slot);
    chunk.policy->pull_arrived({.rank = tag.rank, .clock = tag.clock, .is_final = is_final},
                               state_.steps.decisions());
    state_.steps.carry_out(chunk, tag, out);
  } else if (code != reply_code::ok) {
    out.list.push_back(shard_effects::reply{
        .tag = tag, .code = code, .slot = 0, .where = {}, .applied = false});
  } else {
    state_.norms.tell_pull(state_.registry.chunk(slot), tag, out);
  }
}

void pull_tracker::pull_run(const frame_tag& tag, std::span<const std::uint32_t> slots,
                            bool is_final, shard_effects& out) {
  release_orphans(out);
  auto entry = tag;
  for (const auto slot : slots) {
    auto& chunk = state_.registry.chunk(slot);
    auto code = reply_code::ok;
    entry.chunk = chunk.chunk;
    if (begin(chunk, entry, true, code)) {
      chunk.policy->pull_arrived({.rank = tag.rank, .clock = tag.clock, .is_final = is_final},
                                 state_.steps.decisions());
      state_.steps.carry_out(chunk, entry, out);
    } else if (code != reply_code::ok) {
      state_.replies.reply(chunk, entry, true, code, {}, out);
    } else {
      state_.norms.tell_pull(chunk, entry, out);
    }
  }
}

void pull_tracker::answer(chunk_record& chunk, const frame_tag& tag, reply_code code,
                          shard_effects& out) {
  auto& last = chunks_[chunk.slot].change(tag.rank);
  last.pulling = false;
  if (last.call != no_payload) return answer_call(chunk, tag, code, out);
  if (code == reply_code::ok && last.sending >= replies_under_way_max) {
    // Asked for again while two answers are on their way. The worker waits for the answer to
    // the last, which follows when one of those has been sent.
    TIDEGATE_RARE("shard: two replies are on their way already");
    last.answer_waits = !last.in_place;
    last.waits_with = version_for(chunk, tag.clock).version;
    if (last.answer_waits) return;
    code = reply_code::pull_under_way;
  }
  shard_effects::version_at where;
  if (code == reply_code::ok) {
    where = version_for(chunk, tag.clock);
    chunk.versions.add_reader(where.version_buffer);
    if (last.in_place) {
      last.leased = true;
      last.lease_clock = last.clock;
      last.lease = where;
    } else {
      ++last.sending;
    }
  }
  state_.replies.reply(chunk, tag, last.in_place, code, where, out);
}

// The lease stays, and counts beside the replies.
void pull_tracker::answer_call(chunk_record& chunk, const frame_tag& tag, reply_code code,
                               shard_effects& out) {
  auto& last = chunks_[chunk.slot].change(tag.rank);
  const auto under_way = last.sending + (last.leased ? 1 : 0);
  if (code == reply_code::ok && under_way >= replies_under_way_max) {
    TIDEGATE_RARE("shard: a call waits for the end of a reply");
    last.answer_waits = true;
    last.waits_with = version_for(chunk, tag.clock).version;
    return;
  }
  const auto call = std::exchange(last.call, no_payload);
  shard_effects::version_at where;
  if (code == reply_code::ok) {
    where = version_for(chunk, tag.clock);
    if (is_planted(planted_bug::call_of_the_current_version))
      where.version_buffer = chunk.versions.version_buffer();
    chunk.versions.add_reader(where.version_buffer);
    ++last.sending;
  }
  out.list.push_back(shard_effects::reply{.tag = tag,
                                          .code = code,
                                          .slot = chunk.slot,
                                          .where = where,
                                          .applied = false,
                                          .call = code == reply_code::ok ? call : no_payload});
  out.list.push_back(shard_effects::release{call});
}

bool pull_tracker::sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t version_buffer) {
  auto& versions = state_.registry.chunk(slot).versions;
  auto& last = chunks_[slot].change(rank);
  TIDEGATE_ASSERT(last.sending > 0 && versions.has_reader(version_buffer),
                  "a reply was under way");
  --last.sending;
  versions.remove_reader(version_buffer);
  return last.answer_waits;
}

void pull_tracker::answer_waiting(std::uint32_t slot, std::uint32_t rank, shard_effects& out) {
  auto& chunk = state_.registry.chunk(slot);
  auto& last = chunks_[slot].change(rank);
  if (!std::exchange(last.answer_waits, false)) return;
  const auto base = chunk_registry::base_of(chunk);
  // A worker goes on while rows that it has asked for ahead wait, and steps are made.
  const bool is_there = !chunk.job().has_exact_versions() ||
                        version_for(chunk, last.clock).version == last.waits_with;
  answer(chunk, state_.registry.tag_of(chunk, rank, last.clock, base),
         is_there ? reply_code::ok : reply_code::too_late, out);
}

void pull_tracker::pushed(chunk_record& chunk, std::uint32_t rank, std::uint64_t clock) {
  const auto& last = chunks_[chunk.slot].at(rank);
  if (last.leased && clock >= last.lease_clock) end_lease(chunk, rank);
}

void pull_tracker::end_lease(chunk_record& chunk, std::uint32_t rank) {
  auto* const last = chunks_[chunk.slot].find(rank);
  if (last == nullptr || !std::exchange(last->leased, false)) return;
  chunk.versions.remove_reader(last->lease.version_buffer);
}

void pull_tracker::forget_process(chunk_record& chunk, std::uint32_t rank) {
  if (chunks_[chunk.slot].find(rank) == nullptr) return;
  auto& last = *chunks_[chunk.slot].find(rank);
  last.pulling = false;
  last.answer_waits = false;
  last.request = 0;
  last.call_request = 0;
  last.call_arrives = false;
  forget_call(last);
  end_lease(chunk, rank);
}

void pull_tracker::close(chunk_record& chunk, std::uint32_t rank, shard_effects& out) {
  release_orphans(out);
  if (chunks_[chunk.slot].find(rank) == nullptr) return;
  auto& last = *chunks_[chunk.slot].find(rank);
  const bool waits = std::exchange(last.answer_waits, false);
  if (!last.pulling && !waits) return;
  const auto base = chunk_registry::base_of(chunk);
  answer(chunk, state_.registry.tag_of(chunk, rank, last.clock, base), reply_code::job_ended,
         out);
}

}  // namespace tidegate::policies::sharding
