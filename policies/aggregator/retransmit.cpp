// What an aggregator sends again because upstream has not answered.
#include <algorithm>

#include "policies/aggregator/core.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using kind = upstream_frame::type;
using runtime::frame_kind;

bool aggregator_core::is_busy() const {
  return sums_.is_busy() || !farewell_.is_settled() ||
         std::ranges::any_of(
             chunks_, [](const chunk_state& chunk) { return chunk.pull != reply::none; });
}

void aggregator_core::tick(std::int64_t now, std::vector<upstream_frame>& out) {
  for (std::uint32_t slot = 0; slot < chunks_.size(); ++slot) {
    auto& chunk = chunks_[slot];
    for (std::size_t place = 0; place < upstream_sums::window; ++place)
      if (const auto clock = sums_.take_due(slot, place, now, retransmit_limits_))
        retransmit_sum(slot, *clock, out);
    if (chunk.pull != reply::awaited || !ingress_.relay().asked(slot)) continue;
    if (!chunk.pull_retransmit.is_due(now, retransmit_limits_)) continue;
    retransmit_pull(slot, out);
  }
  if (!farewell_.is_due(now, retransmit_limits_)) return;
  for (std::uint32_t shard = 0; shard < job_.upstream_epochs.size(); ++shard)
    for (std::size_t node = 0; node < job_.nodes.size(); ++node) {
      if (!farewell_.is_missing(shard, node)) continue;
      TIDEGATE_RARE("aggregator: a farewell is said again");
      out.push_back(farewell_frame(shard, node));
    }
}

void aggregator_core::retransmit_sum(std::uint32_t slot, std::uint64_t clock,
                                     std::vector<upstream_frame>& out) {
  const auto& chunk = chunks_[slot];
  for (std::size_t node = 0; node < job_.nodes.size(); ++node) {
    const auto* const part = sums_.find_missing(slot, clock, node);
    if (part == nullptr) continue;
    TIDEGATE_RARE("aggregator: a sum is sent again");
    upstream_frame frame;
    frame.kind = part->skips ? kind::skip : kind::push;
    frame.shard = chunk.shard;
    frame.node = static_cast<std::uint32_t>(node);
    frame.tag = tag_of(chunk, node, clock);
    frame.tag.rate = part->rate;
    frame.retransmit = true;
    frame.single = part->single;
    frame.slot = slot;
    out.push_back(frame);
  }
}

void aggregator_core::retransmit_pull(std::uint32_t slot, std::vector<upstream_frame>& out) {
  if (!ingress_.relay().asked(slot)) return;
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
  farewell_.forget(shard);
  for (const auto& chunk : chunks_)
    if (chunk.shard == shard) norms_.forget(chunk.table, chunk.chunk);
  resend(shard, out);
  return true;
}

// What upstream has not answered.
void aggregator_core::resend(std::uint32_t shard, std::vector<upstream_frame>& out) {
  for (std::uint32_t slot = 0; slot < chunks_.size(); ++slot) {
    const auto& chunk = chunks_[slot];
    if (chunk.shard != shard) continue;
    // Older clocks first.
    for (auto clock = sums_.oldest(slot, 0); clock; clock = sums_.oldest(slot, *clock + 1))
      retransmit_sum(slot, *clock, out);
    if (chunk.pull == reply::awaited) retransmit_pull(slot, out);
  }
  for (std::size_t node = 0; node < job_.nodes.size(); ++node)
    if (farewell_.is_missing(shard, node)) out.push_back(farewell_frame(shard, node));
}

bool aggregator_core::is_resend(const runtime::frame_header& header) {
  return (header.kind == frame_kind::resend || header.kind == frame_kind::resent) &&
         (header.flags & runtime::frame_flag_up) == 0;
}

// Upstream may have lost our attempt, if it had no connection to answer over.
bool aggregator_core::on_resend(const runtime::frame_header& header,
                                std::vector<upstream_frame>& out) {
  const auto shard = std::uint32_t{header.shard};
  if (!is_open() || header.job != job_.token || shard >= job_.upstream_epochs.size() ||
      header.epoch != job_.upstream_epochs[shard])
    return false;
  const bool planted =
      runtime::is_planted(runtime::planted_bug::sums_not_resent_after_reconnect);
  if (header.kind == frame_kind::resent) {
    const bool lost_nothing = reconnects_.lost_nothing(shard);
    const bool lost = reconnects_.answered(shard, header.request) && !lost_nothing && !planted;
    if (lost) resend(shard, out);
    return lost;
  }
  if (header.request != 0) out.push_back(resend_frame(kind::resent, shard, header.request));
  reconnects_.lost_something(shard);
  const auto attempt = reconnects_.attempt_of(shard);
  if (attempt != 0) out.push_back(resend_frame(kind::resend, shard, attempt));
  const bool lost = !planted && !reconnects_.is_broken(shard) &&
                    reconnects_.is_unserved(shard, header.request);
  if (lost) resend(shard, out);
  return lost;
}

upstream_frame aggregator_core::resend_frame(kind of, std::uint32_t shard,
                                             std::uint64_t attempt) const {
  auto frame = farewell_frame(shard, 0);
  frame.kind = of;
  frame.tag.request = attempt;
  return frame;
}

void aggregator_core::on_farewell_ack(std::uint32_t shard, std::uint32_t node_rank) {
  for (std::size_t node = 0; node < job_.nodes.size(); ++node)
    if (job_.nodes[node].first == node_rank) farewell_.acknowledged(shard, node);
}

}  // namespace tidegate::policies
