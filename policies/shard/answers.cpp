// Pulls, and how answers are put together: from what is due to the frames that say it.
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

namespace {

// Of a worker at a chunk. One that is answered had fewer, so that its replies and its lease,
// which ends with its next pull, are never more together: planes_max.
constexpr std::uint8_t replies_under_way_max = 2;

}  // namespace

bool shard_core::begin_pull(chunk_state& chunk, const frame_tag& tag, bool rings,
                            refusal& code) {
  auto& worker = chunk.workers[tag.rank];
  // A duplicate, answered already or when due, or a late one whose worker went on.
  if (tag.request <= worker.request && !is_planted(planted_bug::resent_pull_answered_twice))
    return false;
  if (worker.pulling) {
    if (tag.clock == worker.pull_clock && rings == worker.pull_rings) {
      TIDEGATE_RARE("shard: a parked pull is asked for again");
      worker.request = tag.request;  // answered when due, under the new number
    } else {
      code = refusal::pull_under_way;
    }
    return false;
  }
  end_lease(chunk, worker);
  worker.answer_waits = false;
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
  auto entry = tag;
  for (const auto slot : tables_.at(tag.table).order) {
    auto& chunk = chunks_[slot];
    auto code = refusal::none;
    entry.chunk = chunk.chunk;
    if (begin_pull(chunk, entry, true, code)) {
      chunk.policy->pull_arrived({tag.rank, tag.clock, everything}, decisions_);
      carry_out(slot, entry, out);
    } else if (code != refusal::none) {
      add_to_run(chunk, {true, entry, 1, code, {}, false, false});
    }
  }
}

void shard_core::answer(std::uint32_t slot, const frame_tag& tag, refusal code,
                        shard_effects& out) {
  auto& chunk = chunks_[slot];
  auto& worker = chunk.workers[tag.rank];
  worker.pulling = false;
  if (code == refusal::none && worker.sending >= replies_under_way_max) {
    // Asked for again while two answers are on their way. The worker waits for the answer to
    // the last, which follows when one of those has been sent.
    TIDEGATE_RARE("shard: two replies are on their way already");
    worker.answer_waits = !worker.pull_rings;
    if (worker.answer_waits) return;
    code = refusal::pull_under_way;
  }
  shard_effects::version_at where;
  if (code == refusal::none) {
    where = version_for(chunk, tag.clock);
    ++chunk.readers[where.plane];
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

void shard_core::answer_waiting(std::uint32_t slot, std::uint32_t rank, shard_effects& out) {
  auto& chunk = chunks_[slot];
  if (!std::exchange(chunk.workers[rank].answer_waits, false)) return;
  frame_tag base;
  base.job = chunk.home->token;
  base.epoch = chunk.home->job->epoch;
  answer(slot, tag_of(chunk, rank, chunk.workers[rank].pull_clock, base), refusal::none, out);
}

// The current one, but for a worker that has come back to a clock before.
shard_effects::version_at shard_core::version_for(const chunk_state& chunk,
                                                  std::uint64_t clock) {
  const auto* kept = chunk.version == clock ? nullptr : kept_of(chunk, clock);
  if (kept && !is_planted(planted_bug::previous_version_not_kept)) {
    TIDEGATE_RARE("shard: a worker comes back to a version before");
    return {kept->plane, kept->version, kept->version};
  }
  return {chunk.plane, chunk.version, chunk.policy->complete_below()};
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
    if (TIDEGATE_BUGGIFY("shard: an acknowledgement goes alone")) return false;
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
void shard_core::add_to_run(const chunk_state& chunk, answer_run run) {
  auto& open = chunk.home->runs[run.tag.rank];
  auto& last = run.is_reply ? open.reply : open.acknowledge;
  run.tag.chunk = chunk.index;
  if (last != none_open && !TIDEGATE_BUGGIFY("shard: a run of chunks is cut")) {
    auto& before = runs_[last];
    auto next = before.tag;
    next.chunk += before.count;
    if (next == run.tag && before.code == run.code && before.where == run.where) {
      ++before.count;
      return;
    }
  }
  last = static_cast<std::uint32_t>(runs_.size());
  runs_.push_back(run);
}

// An acknowledgement and the reply to the pull of the clock after it become one frame, too.
void shard_core::merge_runs() {
  for (auto& run : runs_) {
    const auto reply = tables_.at(run.tag.table).runs[run.tag.rank].reply;
    if (run.is_reply || reply == none_open || run.code != refusal::none) continue;
    auto& answer = runs_[reply];
    const bool same = answer.code == refusal::none && answer.count == run.count &&
                      answer.tag.chunk == run.tag.chunk &&
                      answer.tag.clock == run.tag.clock + 1 &&
                      !TIDEGATE_BUGGIFY("shard: a ring is acknowledged alone");
    run.merged = same;
    answer.applied = answer.applied || same;
  }
}

void shard_core::flush_runs(shard_effects& out) {
  if (runs_.empty()) return;
  merge_runs();
  for (const auto& run : runs_) {
    tables_.at(run.tag.table).runs[run.tag.rank] = {};
    if (run.is_reply)
      out.list.push_back(
          shard_effects::ring_reply{run.tag, run.count, run.code, run.where, run.applied});
    else if (!run.merged)
      out.list.push_back(shard_effects::ring_acknowledge{run.tag, run.count, run.code});
  }
  runs_.clear();
}

}  // namespace tidegate::policies
