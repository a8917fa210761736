#include "policies/shard/reply_batcher.hpp"

#include <algorithm>
#include <variant>

#include "policies/shard/state.hpp"
#include "runtime/base/buggify.hpp"

namespace tidegate::policies::sharding {

void reply_batcher::acknowledge(const chunk_record& chunk, const frame_tag& tag, bool in_place,
                                reply_code code, shard_effects& out) {
  if (in_place)
    add(chunk, {.tag = tag, .code = code});
  else
    out.list.push_back(shard_effects::acknowledge{tag, code});
}

void reply_batcher::reply(const chunk_record& chunk, const frame_tag& tag, bool in_place,
                          reply_code code, const shard_effects::version_at& where,
                          shard_effects& out) {
  if (in_place)
    add(chunk, {.is_reply = true, .tag = tag, .code = code, .where = where});
  else
    out.list.push_back(shard_effects::reply{
        .tag = tag, .code = code, .slot = chunk.slot, .where = where, .applied = false});
}

void reply_batcher::join(std::size_t begin, shard_effects& out) {
  auto& list = out.list;
  const auto reply_at = [&](std::size_t i) {
    return std::get_if<shard_effects::reply>(&list[i]);
  };
  bool any = false;
  for (auto i = begin; i < list.size(); ++i) {
    const auto* reply = reply_at(i);
    if (!reply || reply->code != reply_code::ok) continue;
    if (reply->tag.rank >= replies_.size()) replies_.resize(reply->tag.rank + 1);
    replies_[reply->tag.rank] = i;
    any = true;
  }
  if (!any) return;
  const auto joins = [&](std::size_t i) {
    if (TIDEGATE_BUGGIFY("shard: an acknowledgement goes alone")) return false;
    const auto* ack = std::get_if<shard_effects::acknowledge>(&list[i]);
    if (!ack || ack->code != reply_code::ok || ack->tag.rank >= replies_.size()) return false;
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
void reply_batcher::add(const chunk_record& chunk, answer_run run) {
  auto& open = chunk.home->runs[run.tag.rank];
  auto& last = run.is_reply ? open.reply : open.acknowledge;
  run.tag.chunk = chunk.index;
  if (last != no_run && !TIDEGATE_BUGGIFY("shard: a run of chunks is cut")) {
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
void reply_batcher::merge() {
  for (auto& run : runs_) {
    const auto reply = state_.registry.table(run.tag.table).runs[run.tag.rank].reply;
    if (run.is_reply || reply == no_run || run.code != reply_code::ok) continue;
    auto& answer = runs_[reply];
    const bool same = answer.code == reply_code::ok && answer.count == run.count &&
                      answer.tag.chunk == run.tag.chunk &&
                      answer.tag.clock == run.tag.clock + 1 &&
                      !TIDEGATE_BUGGIFY("shard: a ring is acknowledged alone");
    run.merged = same;
    answer.applied = answer.applied || same;
  }
}

void reply_batcher::flush(shard_effects& out) {
  if (runs_.empty()) return;
  merge();
  for (const auto& run : runs_) {
    state_.registry.table(run.tag.table).runs[run.tag.rank] = {};
    if (run.is_reply)
      out.list.push_back(shard_effects::doorbell_reply{.tag = run.tag,
                                                       .count = run.count,
                                                       .code = run.code,
                                                       .where = run.where,
                                                       .applied = run.applied});
    else if (!run.merged)
      out.list.push_back(shard_effects::doorbell_acknowledge{
          .tag = run.tag, .count = run.count, .code = run.code});
  }
  runs_.clear();
}

}  // namespace tidegate::policies::sharding
