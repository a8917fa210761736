// What an aggregator sends again because upstream has not answered.
#include <algorithm>

#include "policies/aggregator/core.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using kind = upstream_frame::type;
using runtime::frame_kind;

bool aggregator_core::is_busy() const {
  const bool waits = std::any_of(chunks_.begin(), chunks_.end(), [](const chunk_state& chunk) {
    return chunk.pull != reply::none ||
           std::any_of(chunk.sums.begin(), chunk.sums.end(),
                       [](const sum_under_way& sum) { return sum.remaining > 0; });
  });
  return waits || std::any_of(farewell_heard_.begin(), farewell_heard_.end(),
                              [](auto heard) { return heard == 0; });
}

void aggregator_core::tick(std::int64_t now, std::vector<upstream_frame>& out) {
  for (std::uint32_t slot = 0; slot < chunks_.size(); ++slot) {
    auto& chunk = chunks_[slot];
    sums_again(slot, now, out);
    if (chunk.pull != reply::awaited || !front_.relay().asked(slot)) continue;
    if (!chunk.pull_again.is_over(now, patience_)) continue;
    pull_again(slot, out);
  }
  if (!farewell_said_ || !farewell_again_.is_over(now, patience_)) return;
  const auto nodes = job_.nodes.size();
  for (std::size_t i = 0; i < farewell_heard_.size(); ++i) {
    if (farewell_heard_[i] != 0) continue;
    TIDEGATE_RARE("aggregator: a farewell is said again");
    out.push_back(farewell_frame(static_cast<std::uint32_t>(i / nodes), i % nodes));
  }
}

void aggregator_core::sums_again(std::uint32_t slot, std::int64_t now,
                                 std::vector<upstream_frame>& out) {
  auto& chunk = chunks_[slot];
  for (auto& sum : chunk.sums) {
    if (sum.remaining == 0) continue;
    const bool early = TIDEGATE_BUGGIFY("aggregator: a sum is sent again early");
    if (sum.again.is_over(now, patience_) || early) sum_again(slot, sum, out);
  }
}

void aggregator_core::sum_again(std::uint32_t slot, const sum_under_way& sum,
                                std::vector<upstream_frame>& out) {
  const auto& chunk = chunks_[slot];
  for (std::size_t node = 0; node < job_.nodes.size(); ++node) {
    const auto& part = part_of(slot, sum.clock, node);
    if (part.acked) continue;
    TIDEGATE_RARE("aggregator: a sum is sent again");
    upstream_frame frame;
    frame.kind = part.skips ? kind::skip : kind::push;
    frame.shard = chunk.shard;
    frame.node = static_cast<std::uint32_t>(node);
    frame.tag = tag_of(chunk, node, sum.clock);
    frame.again = true;
    frame.single = part.single;
    frame.slot = slot;
    out.push_back(frame);
  }
}

void aggregator_core::pull_again(std::uint32_t slot, std::vector<upstream_frame>& out) {
  if (!front_.relay().asked(slot)) return;
  TIDEGATE_RARE("aggregator: a pull is sent again");
  ++chunks_[slot].request;
  out.push_back(pull_frame(slot));
}

bool aggregator_core::upstream_moved(std::uint32_t shard, std::uint64_t epoch,
                                     std::vector<upstream_frame>& out) {
  if (!is_news(shard, epoch)) return false;
  TIDEGATE_RARE("aggregator: another process takes its place upstream");
  job_.upstream_epochs[shard] = epoch;
  reconnects_.forget(shard);
  // An aggregator in the place of another has not heard it.
  const auto nodes = job_.nodes.size();
  for (std::size_t node = 0; node < nodes && farewell_said_; ++node)
    farewell_heard_[shard * nodes + node] = 0;
  resend(shard, out);
  return true;
}

// What upstream has not answered.
void aggregator_core::resend(std::uint32_t shard, std::vector<upstream_frame>& out) {
  for (std::uint32_t slot = 0; slot < chunks_.size(); ++slot) {
    const auto& chunk = chunks_[slot];
    if (chunk.shard != shard) continue;
    // Older clocks first.
    std::uint64_t from = 0;
    for (std::uint32_t i = 0; i < window; ++i) {
      const sum_under_way* next = nullptr;
      for (const auto& sum : chunk.sums)
        if (sum.remaining > 0 && sum.clock >= from && (!next || sum.clock < next->clock))
          next = &sum;
      if (!next) break;
      sum_again(slot, *next, out);
      from = next->clock + 1;
    }
    if (chunk.pull == reply::awaited) pull_again(slot, out);
  }
  const auto nodes = job_.nodes.size();
  for (std::size_t node = 0; node < nodes && farewell_said_; ++node)
    if (farewell_heard_[shard * nodes + node] == 0) out.push_back(farewell_frame(shard, node));
}

bool aggregator_core::is_resend(const runtime::frame_header& header) {
  return (header.kind == frame_kind::resend || header.kind == frame_kind::resent) &&
         (header.flags & runtime::frame_flag_up) == 0;
}

// Upstream may have lost our attempt, if it had no connection to answer over.
void aggregator_core::on_resend(const runtime::frame_header& header,
                                std::vector<upstream_frame>& out) {
  const auto shard = std::uint32_t{header.shard};
  if (!is_open() || header.job != job_.token || shard >= job_.upstream_epochs.size() ||
      header.epoch != job_.upstream_epochs[shard])
    return;
  const bool planted =
      runtime::is_planted(runtime::planted_bug::sums_not_resent_after_reconnect);
  if (header.kind == frame_kind::resent) {
    const bool lost_nothing = reconnects_.lost_nothing(shard);
    if (reconnects_.answered(shard, header.request) && !lost_nothing && !planted)
      resend(shard, out);
    return;
  }
  if (header.request != 0) out.push_back(resend_frame(kind::resent, shard, header.request));
  reconnects_.lost_something(shard);
  const auto attempt = reconnects_.attempt_of(shard);
  if (attempt != 0) out.push_back(resend_frame(kind::resend, shard, attempt));
  if (!planted && !reconnects_.is_broken(shard) &&
      reconnects_.is_unserved(shard, header.request))
    resend(shard, out);
}

upstream_frame aggregator_core::resend_frame(kind of, std::uint32_t shard,
                                             std::uint64_t attempt) const {
  auto frame = farewell_frame(shard, 0);
  frame.kind = of;
  frame.tag.request = attempt;
  return frame;
}

void aggregator_core::on_farewell_ack(std::uint32_t shard, std::uint32_t node_rank) {
  for (std::size_t node = 0; node < job_.nodes.size(); ++node) {
    const auto at = shard * job_.nodes.size() + node;
    if (job_.nodes[node].first == node_rank && at < farewell_heard_.size())
      farewell_heard_[at] = 1;
  }
}

}  // namespace tidegate::policies
