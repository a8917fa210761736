// What shards answer: from a frame to the operations that it ends.
#include <algorithm>
#include <utility>

#include "policies/model/clock_vector.hpp"
#include "policies/worker/core.hpp"

namespace tidegate::policies {

void worker_core::on_ack(std::uint32_t id, std::uint32_t chunk, std::uint64_t clock,
                         refusal code, worker_effects& out) {
  const auto at = tables_.find(id);
  if (at == tables_.end() || chunk >= at->second.places.size()) return;
  auto& push = at->second.pushes[clock % window];
  if (push.active && push.clock == clock) ack(push, chunk, code, out);
}

void worker_core::ack(push_state& push, std::uint32_t chunk, refusal code,
                      worker_effects& out) {
  if (std::exchange(push.acked[chunk], std::uint8_t{1}) != 0) return;  // a duplicate
  if (code != refusal::none) return fail(code, out);
  if (--push.remaining > 0) return;
  push.active = false;
  --active_[push.clock % window];
  if (push.op == 0) return settle(out);
  --pushes_under_way_;
  if (push.op != unnamed) ended(push.op, refusal::none, out);
  settle(out);
}

bool worker_core::is_acknowledged(std::uint32_t table, std::uint64_t clock) const {
  const auto& push = tables_.at(table).pushes[clock % window];
  return !push.active || push.clock != clock;
}

const table_part* worker_core::part_at(const table_state& table, std::uint32_t shard) const {
  const auto at = std::find_if(table.parts.begin(), table.parts.end(),
                               [&](const table_part& part) { return part.shard == shard; });
  return at == table.parts.end() ? nullptr : &*at;
}

void worker_core::on_ring_ack(const chunk_run& where, std::uint64_t clock, refusal code,
                              worker_effects& out) {
  if (where.table == all_tables) {
    for (const auto& [id, table] : tables_) {
      const auto* part = part_at(table, where.shard);
      if (part && part->attached) on_ring_ack({id, where.shard, 0, 0}, clock, code, out);
    }
    return;
  }
  const auto at = tables_.find(where.table);
  if (at == tables_.end()) return;
  const auto* part = part_at(at->second, where.shard);
  if (!part) return;
  auto& push = at->second.pushes[clock % window];
  const auto chunks = std::span(part->chunks);
  const auto first = where.count == 0 ? 0 : std::size_t{where.first};
  const auto count = where.count == 0 ? chunks.size() : std::size_t{where.count};
  if (first > chunks.size() || count > chunks.size() - first) return;
  for (const auto chunk : chunks.subspan(first, count)) {
    if (!push.active || push.clock != clock) return;
    ack(push, chunk, code, out);
  }
}

void worker_core::on_ring_reply(const chunk_run& where, const reply& item,
                                worker_effects& out) {
  const auto at = tables_.find(where.table);
  if (at == tables_.end()) return;
  const auto* part = part_at(at->second, where.shard);
  if (!part) return;
  const auto chunks = std::span(part->chunks);
  const auto first = where.count == 0 ? 0 : std::size_t{where.first};
  const auto count = where.count == 0 ? chunks.size() : std::size_t{where.count};
  if (first > chunks.size() || count > chunks.size() - first) return;
  for (const auto chunk : chunks.subspan(first, count)) {
    if (!expects_reply(where.table, chunk, item.request)) continue;
    at->second.sources[chunk] = {item.plane, moves_[where.shard]};
    answer(at->second, chunk, item, out);
  }
}

bool worker_core::on_finish_ack(std::uint32_t shard, refusal code, worker_effects& out) {
  if (!farewell_sent_ || shard >= finish_acked_.size()) return false;
  if (std::exchange(finish_acked_[shard], std::uint8_t{1}) != 0) return false;
  code != refusal::none ? fail(code, out) : settle(out);
  return true;
}

bool worker_core::expects_reply(std::uint32_t id, std::uint32_t chunk,
                                std::uint64_t request) const {
  const auto at = tables_.find(id);
  if (at == tables_.end() || chunk >= at->second.places.size()) return false;
  const auto& pull = at->second.pull;
  return pull.active && pull.requests[chunk] == request && pull.chunks[chunk] == replied::no;
}

void worker_core::begin_reply(std::uint32_t id, std::uint32_t chunk) {
  tables_.at(id).pull.chunks[chunk] = replied::arriving;
}

bool worker_core::cancel_reply(std::uint32_t id, std::uint32_t chunk, std::uint64_t request) {
  const auto at = tables_.find(id);
  if (at == tables_.end() || chunk >= at->second.places.size()) return false;
  auto& pull = at->second.pull;
  if (!pull.active || pull.requests[chunk] != request) return false;
  if (pull.chunks[chunk] != replied::arriving) return false;
  pull.chunks[chunk] = replied::no;
  return true;
}

void worker_core::on_reply(std::uint32_t id, std::uint32_t chunk, const reply& item,
                           worker_effects& out) {
  const auto at = tables_.find(id);
  if (at == tables_.end() || chunk >= at->second.places.size()) return;
  const auto& pull = at->second.pull;
  // One with a payload has begun; a refusal comes without.
  const auto due = item.code == refusal::none ? replied::arriving : replied::no;
  if (!pull.active || pull.requests[chunk] != item.request || pull.chunks[chunk] != due) return;
  at->second.sources[chunk] = {};
  answer(at->second, chunk, item, out);
}

void worker_core::answer(table_state& table, std::uint32_t chunk, const reply& answer,
                         worker_effects& out) {
  auto& pull = table.pull;
  pull.chunks[chunk] = replied::yes;
  if (answer.code != refusal::none && pull.code == refusal::none) pull.code = answer.code;
  if (answer.code == refusal::none && pull.clock != clock_vector::infinity &&
      answer.min_clock < pull.clock)
    staleness_max_ = std::max(staleness_max_, pull.clock - answer.min_clock);
  if (--pull.remaining > 0) return;
  pull.active = false;
  ended(pull.op, pull.code, out);
}

// An exchange has many parts and ends with the last.
void worker_core::ended(operation op, refusal code, worker_effects& out) {
  if (op != exchange_.op) {
    out.dones.push_back({op, code});
    return;
  }
  if (code != refusal::none && exchange_.code == refusal::none) exchange_.code = code;
  if (--exchange_.remaining > 0) return;
  exchange_.op = 0;
  out.dones.push_back({op, exchange_.code});
}

// Where the pushes of the oldest clock were, those of this one are to be.
bool worker_core::has_room() const {
  const auto slot = clock_ % window;
  return failure_ == refusal::none && (active_[slot] == 0 || active_clock_[slot] == clock_);
}

bool worker_core::pushes_acked() const {
  return std::all_of(active_.begin(), active_.end(), [](auto pushes) { return pushes == 0; });
}

void worker_core::settle(worker_effects& out) {
  send_waiting(out);
  if (room_op_ != 0 && has_room())
    out.dones.push_back({std::exchange(room_op_, 0), refusal::none});
  if (finish_op_ == 0) return;
  if (!farewell_sent_ && pushes_acked()) say_farewell(out);
  if (farewell_sent_ && farewell_heard())
    out.dones.push_back({std::exchange(finish_op_, 0), refusal::none});
}

// Everything under way ends now: its other answers may never come, and if they do, they belong
// to nothing.
void worker_core::fail(refusal code, worker_effects& out) {
  failure_ = code;
  const auto end = [&](operation op) {
    if (op != 0 && op != unnamed && op != exchange_.op) out.dones.push_back({op, code});
  };
  for (auto& [id, table] : tables_) {
    for (auto& push : table.pushes)
      if (std::exchange(push.active, false)) end(push.op);
    if (std::exchange(table.pull.active, false)) end(table.pull.op);
  }
  end(std::exchange(room_op_, 0));
  end(std::exchange(finish_op_, 0));
  active_.fill(0);
  waiting_.reset();
  if (const auto op = std::exchange(exchange_.op, 0); op != 0) out.dones.push_back({op, code});
}

}  // namespace tidegate::policies
