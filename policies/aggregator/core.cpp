#include "policies/aggregator/core.hpp"

#include <algorithm>
#include <utility>

#include "policies/protocol/frame_tags.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using kind = upstream_frame::type;
using runtime::frame_kind;
using runtime::is_planted;
using runtime::planted_bug;

namespace {

// `base`: a frame of the whole job to that shard.
upstream_frame frame_of(const norm_exchange::message& message, upstream_frame base) {
  base.kind = message.kind == frame_kind::norm ? kind::norm : kind::norm_part;
  base.tag.clock = message.clock;
  base.squares = message.squares;
  return base;
}

}  // namespace

void aggregator_core::open_job(job opened) {
  if (is_open()) return;
  TIDEGATE_ASSERT(!opened.nodes.empty(), "a group has a node");
  job_ = std::move(opened);
  ingress_.admin().open_relay(job_.token,
                              {.epoch = job_.epoch,
                               .workers = job_.workers,
                               .consistency = job_.consistency,
                               .workers_come_back = job_.workers_come_back,
                               .members = job_.members},
                              job_.nodes.size());
}

void aggregator_core::begin_at(std::span<const owned_chunk> chunks,
                               std::span<const std::uint64_t> clocks) {
  TIDEGATE_ASSERT(clocks.empty() || clocks.size() == chunks.size(), "a clock per chunk");
  if (is_planted(planted_bug::aggregator_begins_anew)) return;
  for (std::size_t i = 0; i < clocks.size(); ++i) {
    const std::vector<rank_progress> ranks(job_.workers, {clocks[i], false});
    if (clocks[i] > 0) ingress_.snapshots().restore(chunks[i].slot, clocks[i], ranks);
  }
}

std::vector<owned_chunk> aggregator_core::open_table(std::uint32_t table,
                                                     std::span<const chunk_place> places) {
  auto owned = ingress_.admin().open_table(job_.token, table, places);
  auto [at, fresh] = slots_.try_emplace(table);
  if (!fresh) return owned;
  at->second.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    TIDEGATE_ASSERT(owned[i].slot == chunks_.size() && places[i].chunk == i,
                    "the whole table, in order");
    at->second[i] = owned[i].slot;
    auto& chunk = chunks_.emplace_back();
    chunk.table = table;
    chunk.chunk = places[i].chunk;
    chunk.shard = places[i].shard;
  }
  norms_.add_table(table, places.size());
  sums_.add_chunks(chunks_.size(), job_.nodes.size());
  return owned;
}

void aggregator_core::forget_table(std::uint32_t table) {
  ingress_.admin().forget_table(table);
  slots_.erase(table);
}

std::optional<std::uint32_t> aggregator_core::find(const frame_tag& tag) const {
  const auto slot = find_any(tag);
  if (!slot || tag.epoch != job_.upstream_epochs[chunks_[*slot].shard]) return {};
  return slot;
}

// Of whatever epoch.
std::optional<std::uint32_t> aggregator_core::find_any(const frame_tag& tag) const {
  if (tag.job != job_.token) return {};
  const auto table = slots_.find(tag.table);
  if (table == slots_.end() || tag.chunk >= table->second.size()) return {};
  return table->second[tag.chunk];
}

frame_tag aggregator_core::tag_of(const chunk_state& chunk, std::size_t node,
                                  std::uint64_t clock) const {
  return {.job = job_.token,
          .epoch = job_.upstream_epochs[chunk.shard],
          .incarnation = job_.incarnation,
          .rank = job_.nodes[node].first,
          .table = chunk.table,
          .chunk = chunk.chunk,
          .clock = clock,
          .request = chunk.request};
}

void aggregator_core::hand_on(const shard_effects::hand_on& handover,
                              std::span<const shard_effects::input> inputs,
                              std::vector<upstream_frame>& out) {
  // Members have opened all tables before their first push.
  for (const auto& message :
       norms_.begin(static_cast<std::uint32_t>(job_.upstream_epochs.size())))
    out.push_back(frame_of(message, farewell_frame(message.shard, 0)));
  auto& chunk = chunks_[handover.slot];
  const auto nodes = job_.nodes.size();
  sums_.begin(handover.slot, handover.clock);

  const auto* asked = ingress_.relay().asked(handover.slot);
  const bool pulls = asked && chunk.pull == reply::none && !asked->is_final &&
                     asked->clock == handover.clock + 1 &&
                     !TIDEGATE_BUGGIFY("aggregator: a pull goes alone");
  if (pulls) {
    chunk.pull = reply::awaited;
    chunk.pull_retransmit = {};
    ++chunk.request;
  }
  std::uint32_t first = 0;
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto end = job_.nodes[node].end;
    auto last = first;
    while (last < inputs.size() && inputs[last].rank < end) ++last;
    upstream_frame frame;
    frame.kind = last == first ? kind::skip : kind::push;
    frame.shard = chunk.shard;
    frame.node = static_cast<std::uint32_t>(node);
    frame.tag = tag_of(chunk, node, handover.clock);
    // Upstream may make a step with this node alone.
    if (last > first) frame.tag.rate = inputs[first].rate;
    frame.pulls = pulls && node == 0;
    frame.first = first;
    frame.count = last - first;
    if (is_planted(planted_bug::aggregator_counts_a_rank_twice) && first > 0) {
      --frame.first;
      ++frame.count;
    }
    out.push_back(frame);
    sums_.set_part(handover.slot, handover.clock, node,
                   {.skips = frame.kind == kind::skip,
                    .single = frame.count == 1 ? inputs[first].payload : no_payload,
                    .rate = frame.tag.rate});
    first = last;
  }
  TIDEGATE_ASSERT(first == inputs.size(), "the nodes cover the members");
}

void aggregator_core::ask(const shard_effects::ask& ask, std::vector<upstream_frame>& out) {
  auto& chunk = chunks_[ask.slot];
  const auto* asked = ingress_.relay().asked(ask.slot);
  if (!asked || chunk.pull != reply::none) return;  // it went along with a push
  chunk.pull = reply::awaited;
  chunk.pull_retransmit = {};
  ++chunk.request;
  out.push_back(pull_frame(ask.slot));
}

upstream_frame aggregator_core::pull_frame(std::uint32_t slot) const {
  const auto& chunk = chunks_[slot];
  const auto* asked = ingress_.relay().asked(slot);
  TIDEGATE_ASSERT(asked != nullptr, "somebody waits for the pull");
  upstream_frame frame;
  frame.kind = kind::pull;
  frame.shard = chunk.shard;
  frame.tag = tag_of(chunk, 0, asked->clock);
  frame.is_final = asked->is_final;
  return frame;
}

upstream_frame aggregator_core::farewell_frame(std::uint32_t shard, std::size_t node) const {
  upstream_frame frame;
  frame.kind = kind::finished;
  frame.shard = shard;
  frame.node = static_cast<std::uint32_t>(node);
  frame.tag = {.job = job_.token,
               .epoch = job_.upstream_epochs[shard],
               .incarnation = job_.incarnation,
               .rank = job_.nodes[node].first,
               .table = 0,
               .chunk = whole_table,
               .clock = 0,
               .request = 0};
  return frame;
}

// A shard tells each node; the first one speaks for all.
void aggregator_core::on_norm(const runtime::frame_header& header,
                              std::vector<upstream_frame>& out) {
  const auto shard = std::uint32_t{header.shard};
  if (!is_open() || header.job != job_.token || header.worker != job_.nodes.front().first ||
      shard >= job_.upstream_epochs.size() || header.epoch != job_.upstream_epochs[shard])
    return;
  for (const auto& message :
       norms_.take(header, static_cast<std::uint32_t>(job_.upstream_epochs.size())))
    out.push_back(frame_of(message, farewell_frame(message.shard, 0)));
}

// Sums of members that have left for good may be on their way.
void aggregator_core::say_farewell(std::vector<upstream_frame>& out) {
  if (farewell_.is_said() || ingress_.pushes_held() > 0 ||
      !ingress_.registry().all_finished(job_.token))
    return;
  farewell_.say(job_.upstream_epochs.size(), job_.nodes.size());
  for (std::uint32_t shard = 0; shard < job_.upstream_epochs.size(); ++shard)
    for (std::size_t node = 0; node < job_.nodes.size(); ++node)
      out.push_back(farewell_frame(shard, node));
}

runtime::frame_header header_of(const upstream_frame& frame) {
  auto header = header_of(frame_kind::push, frame.tag, reply_code::ok);
  if (frame.kind == kind::skip) header.kind = frame_kind::skip;
  if (frame.kind == kind::pull) header.kind = frame_kind::pull;
  if (frame.kind == kind::finished) header.kind = frame_kind::finished;
  if (frame.pulls) header.flags = runtime::frame_flag_pull;
  if (frame.is_final) header.flags = runtime::frame_flag_final;
  if (frame.kind == kind::resend || frame.kind == kind::resent) {
    header.kind = frame.kind == kind::resend ? frame_kind::resend : frame_kind::resent;
    header.flags = runtime::frame_flag_up;
  }
  if (frame.kind == kind::norm || frame.kind == kind::norm_part) {
    header.kind = frame.kind == kind::norm ? frame_kind::norm : frame_kind::norm_part;
    header.squares = frame.squares;
  }
  return header;
}

bool aggregator_core::is_answer(const runtime::frame_header& header) {
  return header.kind == frame_kind::push_ack || header.kind == frame_kind::pull_reply;
}

bool aggregator_core::is_stale(const runtime::frame_header& header) const {
  const auto tag = policies::tag_of(header);
  const auto slot = find_any(tag);
  // A refusal never had a place.
  return slot && header.code == 0 && tag.epoch != job_.upstream_epochs[chunks_[*slot].shard];
}

void aggregator_core::on_answer(const runtime::frame_header& header, shard_effects& out) {
  const auto tag = policies::tag_of(header);
  const auto code = static_cast<reply_code>(header.code);
  if (job_.upstream_moves && is_not_told(code)) {
    TIDEGATE_RARE("aggregator: one that was replaced upstream knows nothing of what is asked");
    return;
  }
  if (header.kind == frame_kind::pull_reply) {
    const bool applied = (header.flags & runtime::frame_flag_applied) != 0;
    on_reply(tag, code,
             {.version = header.version, .min_clock = header.min_clock, .applied = applied},
             out);
  } else if (header.chunk == runtime::whole_job) {
    // Not what one says that another has taken the place of.
    const bool mine = header.shard < job_.upstream_epochs.size() &&
                      tag.epoch == job_.upstream_epochs[header.shard];
    if (mine && (code == reply_code::ok || code == reply_code::job_ended))
      on_farewell_ack(header.shard, header.worker);
  } else {
    on_ack(tag, code, out);
  }
}

void aggregator_core::on_ack(const frame_tag& tag, reply_code code, shard_effects& out) {
  ack(tag, code, false, out);
}

void aggregator_core::ack(const frame_tag& tag, reply_code code, bool answer_follows,
                          shard_effects& out) {
  const auto slot = find(tag);
  if (!slot) return;
  const auto node =
      std::find_if(job_.nodes.begin(), job_.nodes.end(),
                   [&](const rank_node& child) { return child.first == tag.rank; });
  if (node == job_.nodes.end()) return;
  const auto index = static_cast<std::size_t>(node - job_.nodes.begin());
  if (const auto all = sums_.acknowledge(*slot, tag.clock, index, code))
    ingress_.relay().handed_on(*slot, tag.clock, *all, answer_follows, out);
}

std::optional<std::uint32_t> aggregator_core::expects_reply(const frame_tag& tag) const {
  const auto slot = find(tag);
  if (!slot || tag.rank != job_.nodes.front().first) return {};
  const auto& chunk = chunks_[*slot];
  if (chunk.pull != reply::awaited || chunk.request != tag.request) return {};
  return slot;
}

std::uint32_t aggregator_core::begin_reply(std::uint32_t slot) {
  chunks_[slot].pull = reply::arriving;
  return ingress_.relay().begin_pulled(slot);
}

void aggregator_core::cancel_reply(const frame_tag& tag, std::vector<upstream_frame>& out) {
  const auto slot = find_any(tag);
  if (!slot) return;
  auto& chunk = chunks_[*slot];
  if (chunk.pull != reply::arriving || chunk.request != tag.request) return;
  chunk.pull = reply::awaited;
  ingress_.relay().cancel_pulled(*slot);
  retransmit_pull(*slot, out);
}

void aggregator_core::on_reply(const frame_tag& tag, reply_code code, const parameters& pulled,
                               shard_effects& out) {
  const auto slot = find(tag);
  if (!slot) return;
  auto& chunk = chunks_[*slot];
  // One with a payload has begun; a refusal comes without.
  const auto due = code == reply_code::ok ? reply::arriving : reply::awaited;
  const bool expected = chunk.pull == due && chunk.request == tag.request;
  if (pulled.applied) {
    auto pushed = tag;
    --pushed.clock;
    ack(pushed, reply_code::ok, expected, out);
  }
  if (!expected) return;
  chunk.pull = reply::none;
  ingress_.relay().pulled(*slot, code, pulled.version, pulled.min_clock, out);
}

}  // namespace tidegate::policies
