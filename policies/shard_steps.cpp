// Pushes and pulls: from a frame to the effects that it has.
#include <algorithm>
#include <utility>

#include "policies/shard_core.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

namespace {

// Of a worker at a chunk. One that is answered had fewer, so that its replies and its lease,
// which ends with its next pull, are never more together: planes_max.
constexpr std::uint8_t replies_under_way_max = 2;

}  // namespace

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

void shard_core::ring(const frame_tag& tag, const ring_request& what,
                      std::span<const payload_handle> payloads, shard_effects& out) {
  auto whole = tag;
  whole.chunk = whole_table;
  const bool ends_clock = what.push || what.skip;
  if (const auto code = check_table(tag); code != refusal::none) {
    for (auto payload : payloads) out.list.push_back(shard_effects::release{payload});
    if (ends_clock) out.list.push_back(shard_effects::ring_acknowledge{whole, 0, code});
    whole.clock += ends_clock ? 1 : 0;
    if (what.pull) out.list.push_back(shard_effects::ring_reply{whole, 0, code, {}, false});
    return;
  }
  if (ends_clock) {
    ring_push(whole, payloads, out);
    ++whole.clock;
  }
  if (what.pull) ring_pull(whole, what.everything, out);
  flush_runs(out);
}

void shard_core::ring_push(const frame_tag& tag, std::span<const payload_handle> payloads,
                           shard_effects& out) {
  const auto& order = tables_.at(tag.table).order;
  TIDEGATE_ASSERT(payloads.empty() || payloads.size() == order.size(), "a payload per chunk");
  auto one = tag;
  for (std::uint32_t index = 0; index < order.size(); ++index) {
    auto& chunk = chunks_[order[index]];
    const auto payload = payloads.empty() ? no_payload : payloads[index];
    one.chunk = chunk.chunk;
    if (const auto code = check_clock(chunk, one); code != refusal::none) {
      if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
      acknowledge(chunk, one, true, code, out);
      continue;
    }
    take(chunk, one, payload, true, out);
    carry_out(order[index], one, out);
  }
}

// Holds the push and feeds the policy what is next in the worker's order.
void shard_core::take(chunk_state& chunk, const frame_tag& tag, payload_handle payload,
                      bool rings, shard_effects& out) {
  auto& worker = chunk.workers[tag.rank];
  auto& place = worker.held[tag.clock % window];
  const bool applied = tag.clock < chunk.policy->applied_below(tag.rank);
  if (applied || place.there) {  // a duplicate
    if (payload != no_payload) out.list.push_back(shard_effects::release{payload});
    if (applied) acknowledge(chunk, tag, rings, refusal::none, out);
    return;
  }
  // Who pushes has done with the parameters of that clock.
  if (worker.leased && tag.clock >= worker.pull_clock) end_lease(chunk, worker);
  place = {false, true, rings, tag.clock, payload};
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
    if (decision.kind == what::hand_on) {
      hand_on(slot, decision.clock, out);
      continue;
    }
    if (decision.kind == what::settle) {
      settle_clock(chunk, decision.clock, base, out);
      continue;
    }
    if (decision.kind == what::ask) {
      out.list.push_back(shard_effects::ask{slot});
      continue;
    }
    auto code = refusal::none;
    if (decision.kind == what::too_late)
      code = chunk.refused == refusal::none ? refusal::too_late : chunk.refused;
    answer(slot, tag_of(chunk, decision.rank, decision.clock, base), code, out);
  }
  decisions_.clear();
}

void shard_core::apply(std::uint32_t slot, const policy_decision& what, const frame_tag& base,
                       shard_effects& out) {
  auto& chunk = chunks_[slot];
  const bool all = what.kind == policy_decision::what::apply_clock;
  const std::uint32_t begin = all ? 0 : what.rank;
  const auto end = all ? static_cast<std::uint32_t>(chunk.workers.size()) : what.rank + 1;
  const auto first = static_cast<std::uint32_t>(out.inputs.size());
  const auto count = list_inputs(chunk, begin, end, what.clock, out);
  if (count > 0) {
    const auto from = std::exchange(chunk.plane, free_plane(chunk));
    out.list.push_back(shard_effects::apply{slot, first, count, from, chunk.plane});
  }
  ++chunk.version;
  for (std::uint32_t rank = begin; rank < end; ++rank)
    if (chunk.workers[rank].next > what.clock)
      settle(chunk, rank, what.clock, base, refusal::none, out);
}

std::uint32_t shard_core::list_inputs(const chunk_state& chunk, std::uint32_t begin,
                                      std::uint32_t end, std::uint64_t clock,
                                      shard_effects& out) {
  std::uint32_t count = 0;
  for (std::uint32_t rank = begin; rank < end; ++rank) {
    const auto& worker = chunk.workers[rank];
    const auto& held = worker.held[clock % window];
    if (worker.next <= clock || held.payload == no_payload) continue;
    out.inputs.push_back({rank, held.payload});
    ++count;
  }
  return count;
}

// Where the next version goes: in place if nobody reads the current one.
std::uint32_t shard_core::free_plane(chunk_state& chunk) {
  if (chunk.readers[chunk.plane] == 0) return chunk.plane;
  const auto found = std::find(chunk.readers.begin(), chunk.readers.end(), 0U);
  const auto plane = static_cast<std::uint32_t>(found - chunk.readers.begin());
  if (found == chunk.readers.end()) chunk.readers.push_back(0);
  TIDEGATE_ASSERT(plane < planes_max(static_cast<std::uint32_t>(chunk.workers.size())),
                  "readers are bounded");
  return plane;
}

void shard_core::end_lease(chunk_state& chunk, worker_at_chunk& worker) {
  if (!std::exchange(worker.leased, false)) return;
  --chunk.readers[worker.lease.plane];
}

void shard_core::sent(std::uint32_t slot, std::uint32_t rank, std::uint32_t plane) {
  auto& chunk = chunks_[slot];
  auto& worker = chunk.workers[rank];
  TIDEGATE_ASSERT(worker.sending > 0 && chunk.readers[plane] > 0, "a reply was under way");
  --worker.sending;
  --chunk.readers[plane];
}

// The push of (rank, clock) is in the parameters, or will never be: free its payload, answer
// it.
void shard_core::settle(chunk_state& chunk, std::uint32_t rank, std::uint64_t clock,
                        const frame_tag& base, refusal code, shard_effects& out) {
  auto& held = chunk.workers[rank].held[clock % window];
  TIDEGATE_ASSERT(held.there, "an applied push was held");
  if (held.payload != no_payload) out.list.push_back(shard_effects::release{held.payload});
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

bool shard_core::begin_pull(chunk_state& chunk, const frame_tag& tag, bool rings,
                            refusal& code) {
  auto& worker = chunk.workers[tag.rank];
  // A duplicate, answered already or when due, or a late one whose worker went on.
  if (tag.request <= worker.request) return false;
  if (worker.pulling) {
    code = refusal::pull_under_way;
    return false;
  }
  end_lease(chunk, worker);
  worker.pulling = true;
  worker.pull_rings = rings;
  worker.pull_clock = tag.clock;
  worker.request = tag.request;
  return true;
}

void shard_core::park_pull(const frame_tag& tag, bool everything, shard_effects& out) {
  std::uint32_t slot = 0;
  auto code = find_chunk(tag, slot);
  if (code == refusal::none && begin_pull(chunks_[slot], tag, false, code)) {
    chunks_[slot].policy->pull_arrived({tag.rank, tag.clock, everything}, decisions_);
    carry_out(slot, tag, out);
  } else if (code != refusal::none) {
    out.list.push_back(shard_effects::reply{tag, code, 0, {}, false});
  }
}

void shard_core::ring_pull(const frame_tag& tag, bool everything, shard_effects& out) {
  auto one = tag;
  for (const auto slot : tables_.at(tag.table).order) {
    auto& chunk = chunks_[slot];
    auto code = refusal::none;
    one.chunk = chunk.chunk;
    if (begin_pull(chunk, one, true, code)) {
      chunk.policy->pull_arrived({tag.rank, tag.clock, everything}, decisions_);
      carry_out(slot, one, out);
    } else if (code != refusal::none) {
      add_to_run(chunk, {true, one, 1, code, {}, false, false});
    }
  }
}

void shard_core::answer(std::uint32_t slot, const frame_tag& tag, refusal code,
                        shard_effects& out) {
  auto& chunk = chunks_[slot];
  auto& worker = chunk.workers[tag.rank];
  worker.pulling = false;
  if (code == refusal::none && worker.sending >= replies_under_way_max)
    code = refusal::pull_under_way;
  shard_effects::version_at where{chunk.plane, chunk.version, chunk.policy->complete_below()};
  if (code != refusal::none) where = {};
  if (code == refusal::none) {
    ++chunk.readers[chunk.plane];
    if (worker.pull_rings) {
      worker.leased = true;
      worker.lease = where;
    } else {
      ++worker.sending;
    }
  }
  if (worker.pull_rings)
    add_to_run(chunk, {true, tag, 1, code, where, false, false});
  else
    out.list.push_back(shard_effects::reply{tag, code, slot, where, false});
}

// The acknowledgement of a push and the reply to the pull of the clock after it, of the same
// worker in the same step, become one frame.
void shard_core::join_answers(std::size_t begin, shard_effects& out) {
  auto& list = out.list;
  const auto reply_at = [&](std::size_t i) {
    return std::get_if<shard_effects::reply>(&list[i]);
  };
  bool any = false;
  for (auto i = begin; i < list.size(); ++i) {
    const auto* reply = reply_at(i);
    if (!reply || reply->code != refusal::none) continue;
    if (reply->tag.rank >= replies_.size()) replies_.resize(reply->tag.rank + 1);
    replies_[reply->tag.rank] = i;
    any = true;
  }
  if (!any) return;
  const auto joins = [&](std::size_t i) {
    const auto* ack = std::get_if<shard_effects::acknowledge>(&list[i]);
    if (!ack || ack->code != refusal::none || ack->tag.rank >= replies_.size()) return false;
    const auto at = replies_[ack->tag.rank];
    if (at <= i || at >= list.size()) return false;
    auto* reply = reply_at(at);
    if (!reply || reply->tag.chunk != ack->tag.chunk || reply->tag.clock != ack->tag.clock + 1)
      return false;
    return reply->applied = true;
  };
  auto kept = begin;
  for (auto i = begin; i < list.size(); ++i)
    if (!joins(i)) list[kept++] = list[i];
  list.resize(kept);
  std::fill(replies_.begin(), replies_.end(), 0);
}

// Neighbouring chunks with the same answer become one frame.
void shard_core::add_to_run(const chunk_state& chunk, answer_run what) {
  auto& open = chunk.home->runs[what.tag.rank];
  auto& last = what.is_reply ? open.reply : open.acknowledge;
  what.tag.chunk = chunk.index;
  if (last != none_open) {
    auto& before = runs_[last];
    auto next = before.tag;
    next.chunk += before.count;
    if (next == what.tag && before.code == what.code && before.where == what.where) {
      ++before.count;
      return;
    }
  }
  last = static_cast<std::uint32_t>(runs_.size());
  runs_.push_back(what);
}

// An acknowledgement and the reply to the pull of the clock after it become one frame, too.
void shard_core::merge_runs() {
  for (auto& one : runs_) {
    const auto reply = tables_.at(one.tag.table).runs[one.tag.rank].reply;
    if (one.is_reply || reply == none_open || one.code != refusal::none) continue;
    auto& answer = runs_[reply];
    const bool same = answer.code == refusal::none && answer.count == one.count &&
                      answer.tag.chunk == one.tag.chunk &&
                      answer.tag.clock == one.tag.clock + 1;
    one.merged = same;
    answer.applied = answer.applied || same;
  }
}

void shard_core::flush_runs(shard_effects& out) {
  if (runs_.empty()) return;
  merge_runs();
  for (const auto& one : runs_) {
    tables_.at(one.tag.table).runs[one.tag.rank] = {};
    if (one.is_reply)
      out.list.push_back(
          shard_effects::ring_reply{one.tag, one.count, one.code, one.where, one.applied});
    else if (!one.merged)
      out.list.push_back(shard_effects::ring_acknowledge{one.tag, one.count, one.code});
  }
  runs_.clear();
}

}  // namespace tidegate::policies
