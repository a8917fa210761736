#include "policies/worker_core.hpp"

#include <algorithm>
#include <utility>

#include "policies/clock_vector.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

using runtime::errc;
using send_kind = worker_effects::send_kind;

void worker_core::add_table(std::uint32_t id, std::vector<chunk_place> places) {
  TIDEGATE_ASSERT(!places.empty(), "a table has a chunk");
  auto [at, fresh] = tables_.try_emplace(id);
  if (!fresh) return;
  auto& table = at->second;
  table.pushed_below = clock_;
  for (auto& push : table.pushes) push.acked.resize(places.size());
  table.pull.chunks.resize(places.size());
  table.planes.resize(places.size());
  for (const auto& place : places) {
    auto part = std::find_if(table.parts.begin(), table.parts.end(),
                             [&](const table_part& one) { return one.shard == place.shard; });
    if (part == table.parts.end())
      part = table.parts.insert(part, table_part{place.shard, false, {}});
    part->chunks.push_back(place.chunk);
  }
  table.places = std::move(places);
}

void worker_core::attach(std::uint32_t id, std::uint32_t shard) {
  for (auto& part : tables_.at(id).parts)
    if (part.shard == shard) part.attached = true;
}

const chunk_place& worker_core::place_of(std::uint32_t table, std::uint32_t chunk) const {
  const auto at = tables_.find(table);
  TIDEGATE_ASSERT(at != tables_.end() && chunk < at->second.places.size(), "a known chunk");
  return at->second.places[chunk];
}

std::span<const table_part> worker_core::parts_of(std::uint32_t table) const {
  return tables_.at(table).parts;
}

std::span<const std::uint32_t> worker_core::planes_of(std::uint32_t table) const {
  return tables_.at(table).planes;
}

bool worker_core::may_push(const table_state& table) const {
  return !finished_ && clock_op_ == 0 && exchange_.op == 0 && !table.pull.active &&
         table.pushed_below <= clock_;
}

errc worker_core::push(std::uint32_t id, operation op, worker_effects& out,
                       std::uint32_t half) {
  if (failure_ != refusal::none) return errc::cancelled;
  const auto at = tables_.find(id);
  if (at == tables_.end()) return errc::not_found;
  if (!may_push(at->second)) return errc::out_of_order;
  mark_push(at->second, op);
  send_push(id, at->second, {.half = half}, out);
  return errc::ok;
}

void worker_core::mark_push(table_state& table, operation op) {
  auto& push = table.pushes[clock_ % window];
  TIDEGATE_ASSERT(!push.active, "clock() waits for the credit window");
  push.active = true;
  push.clock = clock_;
  push.op = op;
  push.remaining = static_cast<std::uint32_t>(table.places.size());
  std::fill(push.acked.begin(), push.acked.end(), std::uint8_t{0});
  table.pushed_below = clock_ + 1;
  if (op != 0) ++pushes_under_way_;
}

void worker_core::mark_pull(table_state& table, operation op, std::uint64_t clock) {
  auto& pull = table.pull;
  pull.active = true;
  pull.clock = clock;
  pull.request = last_request_;
  pull.op = op;
  pull.remaining = static_cast<std::uint32_t>(table.places.size());
  pull.code = refusal::none;
  std::fill(pull.chunks.begin(), pull.chunks.end(), replied::no);
}

void worker_core::send_push(std::uint32_t id, const table_state& table, const push_kind& how,
                            worker_effects& out) const {
  worker_effects::send one;
  one.table = id;
  one.clock = clock_;
  one.request = how.pulls ? last_request_ : 0;
  one.half = how.half;
  one.pulls = how.pulls;
  auto ring = one;
  ring.kind = send_kind::ring;
  ring.pushes = !how.skips;
  ring.skips = how.skips;
  for (const auto& part : table.parts) {
    if (!part.attached) continue;
    ring.shard = part.shard;
    out.sends.push_back(ring);
  }
  one.kind = how.skips ? send_kind::skip : send_kind::push;
  for (const auto& part : table.parts) {
    if (part.attached) continue;
    one.shard = part.shard;
    for (const auto chunk : part.chunks) {
      const auto& place = table.places[chunk];
      one.chunk = chunk;
      one.first = place.first;
      one.elements = place.elements;
      out.sends.push_back(one);
    }
  }
}

void worker_core::send_pull(std::uint32_t id, const table_state& table, bool everything,
                            worker_effects& out) const {
  worker_effects::send one;
  one.table = id;
  one.clock = table.pull.clock;
  one.request = table.pull.request;
  one.everything = everything;
  one.pulls = true;
  for (const auto& part : table.parts) {
    one.shard = part.shard;
    one.kind = part.attached ? send_kind::ring : send_kind::pull;
    if (part.attached) {
      out.sends.push_back(one);
      continue;
    }
    for (const auto chunk : part.chunks) {
      const auto& place = table.places[chunk];
      auto of_chunk = one;
      of_chunk.chunk = chunk;
      of_chunk.first = place.first;
      of_chunk.elements = place.elements;
      out.sends.push_back(of_chunk);
    }
  }
}

errc worker_core::pull(std::uint32_t id, operation op, extent what, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  const auto at = tables_.find(id);
  if (at == tables_.end()) return errc::not_found;
  auto& table = at->second;
  if (table.pull.active || clock_op_ != 0 || exchange_.op != 0) return errc::out_of_order;
  const bool to_the_end = what == extent::to_the_end;
  if (finished_ != to_the_end) return errc::out_of_order;
  if (!to_the_end && table.pushed_below > clock_) return errc::out_of_order;
  ++last_request_;
  mark_pull(table, op, to_the_end ? clock_vector::infinity : clock_);
  send_pull(id, table, what != extent::as_policy, out);
  return errc::ok;
}

errc worker_core::clock(operation op, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (finished_ || clock_op_ != 0 || exchange_.op != 0) return errc::out_of_order;
  for (const auto& [id, table] : tables_)
    if (table.pull.active) return errc::out_of_order;
  for (auto& [id, table] : tables_) {
    if (table.pushed_below > clock_) continue;
    mark_push(table, 0);
    send_push(id, table, {.skips = true}, out);
  }
  ++clock_;
  clock_op_ = op;
  settle(out);
  return errc::ok;
}

errc worker_core::exchange(std::span<const std::uint32_t> ids, operation op,
                           worker_effects& out, std::uint32_t half) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (finished_ || clock_op_ != 0 || exchange_.op != 0) return errc::out_of_order;
  for (auto& [id, table] : tables_) {
    if (table.pull.active) return errc::out_of_order;
    table.listed = false;
  }
  std::size_t listed = 0;
  for (const auto id : ids) {
    const auto at = tables_.find(id);
    if (at == tables_.end()) return errc::not_found;
    if (at->second.listed || !may_push(at->second)) return errc::out_of_order;
    at->second.listed = true;
    ++listed;
  }
  ++last_request_;
  exchange_ = {op, 2 * listed + 1, refusal::none};
  for (auto& [id, table] : tables_) {
    if (table.listed) {
      mark_push(table, op);
      mark_pull(table, op, clock_ + 1);
    } else if (table.pushed_below <= clock_) {
      mark_push(table, 0);
      send_push(id, table, {.skips = true}, out);
    }
  }
  send_exchange(listed, half, out);
  ++clock_;
  clock_op_ = op;
  settle(out);
  return errc::ok;
}

// One ring per shard for all tables when all take part and are attached there.
void worker_core::send_exchange(std::size_t listed, std::uint32_t half,
                                worker_effects& out) const {
  const bool all = listed == tables_.size() && listed > 1 &&
                   std::all_of(tables_.begin(), tables_.end(), [](const auto& entry) {
                     return std::all_of(entry.second.parts.begin(), entry.second.parts.end(),
                                        [](const table_part& part) { return part.attached; });
                   });
  if (!all) {
    for (const auto& [id, table] : tables_)
      if (table.listed) send_push(id, table, {.pulls = true, .half = half}, out);
    return;
  }
  for (std::uint32_t shard = 0; shard < finish_acked_.size(); ++shard) {
    const bool any = std::any_of(tables_.begin(), tables_.end(), [&](const auto& entry) {
      return part_at(entry.second, shard) != nullptr;
    });
    if (!any) continue;
    worker_effects::send ring;
    ring.kind = send_kind::ring;
    ring.shard = shard;
    ring.table = all_tables;
    ring.clock = clock_;
    ring.request = last_request_;
    ring.half = half;
    ring.pushes = ring.pulls = true;
    out.sends.push_back(ring);
  }
}

errc worker_core::finish(operation op, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (finished_ || clock_op_ != 0 || exchange_.op != 0) return errc::out_of_order;
  for (const auto& [id, table] : tables_)
    if (table.pull.active || table.pushed_below > clock_) return errc::out_of_order;
  finished_ = true;
  finish_op_ = op;
  settle(out);
  return errc::ok;
}

void worker_core::say_farewell(worker_effects& out) {
  farewell_sent_ = true;
  for (std::uint32_t shard = 0; shard < finish_acked_.size(); ++shard) {
    worker_effects::send farewell;
    farewell.kind = send_kind::finished;
    farewell.shard = shard;
    farewell.clock = clock_;
    out.sends.push_back(farewell);
  }
}

}  // namespace tidegate::policies
