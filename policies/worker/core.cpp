#include "policies/worker/core.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/clock_vector.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/rare.hpp"

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
  table.pull.requests.resize(places.size());
  table.sources.resize(places.size());
  for (const auto& place : places) {
    auto part =
        std::find_if(table.parts.begin(), table.parts.end(),
                     [&](const table_part& entry) { return entry.shard == place.shard; });
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

void worker_core::shard_moved(std::uint32_t shard) {
  ++moves_[shard];
  for (auto& [id, table] : tables_)
    for (auto& part : table.parts)
      if (part.shard == shard) part.attached = false;
}

const chunk_place& worker_core::place_of(std::uint32_t table, std::uint32_t chunk) const {
  const auto at = tables_.find(table);
  TIDEGATE_ASSERT(at != tables_.end() && chunk < at->second.places.size(), "a known chunk");
  return at->second.places[chunk];
}

std::span<const table_part> worker_core::parts_of(std::uint32_t table) const {
  return tables_.at(table).parts;
}

std::span<const worker_core::chunk_source> worker_core::sources_of(std::uint32_t table) const {
  return tables_.at(table).sources;
}

bool worker_core::may_push(const table_state& table) const {
  return may_move_on() && !table.pull.active && table.pushed_below <= clock_;
}

bool worker_core::may_move_on() const {
  return !finished_ && exchange_.op == 0 && has_room();
}

errc worker_core::room(operation op, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (finished_ || room_op_ != 0) return errc::out_of_order;
  room_op_ = op;
  settle(out);
  return errc::ok;
}

errc worker_core::push(std::uint32_t id, operation op, worker_effects& out,
                       std::uint32_t half) {
  if (failure_ != refusal::none) return errc::cancelled;
  const auto at = tables_.find(id);
  if (at == tables_.end()) return errc::not_found;
  if (!may_push(at->second)) return errc::out_of_order;
  mark_push(at->second, op, half);
  send_or_wait(id, at->second, out);
  return errc::ok;
}

void worker_core::mark_push(table_state& table, operation op, std::uint32_t half) {
  auto& push = table.pushes[clock_ % window];
  TIDEGATE_ASSERT(!push.active, "within the credit window");
  push.active = true;
  push.clock = clock_;
  push.op = op;
  push.half = half;
  push.again = {};
  push.remaining = static_cast<std::uint32_t>(table.places.size());
  std::fill(push.acked.begin(), push.acked.end(), std::uint8_t{0});
  table.pushed_below = clock_ + 1;
  ++active_[clock_ % window];
  active_clock_[clock_ % window] = clock_;
  if (op != 0) ++pushes_under_way_;
}

void worker_core::mark_pull(table_state& table, operation op, std::uint64_t clock,
                            bool everything) {
  auto& pull = table.pull;
  pull.active = true;
  pull.clock = clock;
  pull.everything = everything;
  pull.op = op;
  pull.again = {};
  pull.remaining = static_cast<std::uint32_t>(table.places.size());
  pull.code = refusal::none;
  std::fill(pull.chunks.begin(), pull.chunks.end(), replied::no);
  std::fill(pull.requests.begin(), pull.requests.end(), last_request_);
}

worker_effects::send worker_core::send_of(std::uint32_t id, const push_state& push,
                                          bool rings) {
  const bool skips = push.op == 0;
  worker_effects::send send;
  send.kind = rings ? send_kind::ring : skips ? send_kind::skip : send_kind::push;
  send.table = id;
  send.clock = push.clock;
  send.half = push.half;
  send.pushes = rings && !skips;
  send.skips = rings && skips;
  return send;
}

// What is active in another slot is of a clock before.
bool worker_core::may_send(std::uint64_t clock) const {
  if (!one_clock_in_flight_) return true;
  for (std::uint64_t age = 1; age < window; ++age)
    if (active_[(clock + age) % window] > 0) return false;
  return true;
}

void worker_core::send_or_wait(std::uint32_t id, const table_state& table,
                               worker_effects& out) {
  if (may_send(clock_))
    send_push(id, table, table.pushes[clock_ % window], 0, out);
  else
    waiting_ = clock_;
}

void worker_core::send_waiting(worker_effects& out) {
  if (!waiting_ || !may_send(*waiting_)) return;
  TIDEGATE_RARE("worker: pushes have waited for the clock before");
  const bool exchanges = exchange_waits();
  const auto clock = *std::exchange(waiting_, std::nullopt);
  for (const auto& [id, table] : tables_) {
    const auto& push = table.pushes[clock % window];
    if (push.active && push.clock == clock && push.op != unnamed)
      send_push(id, table, push, 0, out);
  }
  if (exchanges) send_exchange(out);
}

void worker_core::send_push(std::uint32_t id, const table_state& table, const push_state& push,
                            std::uint64_t request, worker_effects& out) const {
  for (const bool rings : {true, false}) {
    auto send = send_of(id, push, rings);
    send.pulls = request != 0;
    send.request = request;
    for (const auto& part : table.parts) {
      if (part.attached != rings) continue;
      send.shard = part.shard;
      if (rings) out.sends.push_back(send);
      if (rings) continue;
      for (const auto chunk : part.chunks) {
        aim(send, table.places[chunk]);
        out.sends.push_back(send);
      }
    }
  }
}

void worker_core::aim(worker_effects::send& send, const chunk_place& place) {
  send.chunk = place.chunk;
  send.first = place.first;
  send.elements = place.elements;
}

worker_effects::send worker_core::pull_of(std::uint32_t id, const table_state& table) const {
  worker_effects::send send;
  send.table = id;
  send.clock = table.pull.clock;
  send.request = last_request_;
  send.everything = table.pull.everything;
  send.pulls = true;
  return send;
}

void worker_core::send_pull(std::uint32_t id, const table_state& table,
                            worker_effects& out) const {
  auto send = pull_of(id, table);
  for (const auto& part : table.parts) {
    send.shard = part.shard;
    send.kind = part.attached ? send_kind::ring : send_kind::pull;
    if (part.attached) {
      out.sends.push_back(send);
      continue;
    }
    for (const auto chunk : part.chunks) {
      auto of_chunk = send;
      aim(of_chunk, table.places[chunk]);
      out.sends.push_back(of_chunk);
    }
  }
}

errc worker_core::pull(std::uint32_t id, operation op, extent wanted, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  const auto at = tables_.find(id);
  if (at == tables_.end()) return errc::not_found;
  auto& table = at->second;
  if (table.pull.active || exchange_.op != 0) return errc::out_of_order;
  if (one_clock_in_flight_ && !has_room()) return errc::out_of_order;
  const bool to_the_end = wanted == extent::to_the_end;
  if (finished_ != to_the_end) return errc::out_of_order;
  if (!to_the_end && table.pushed_below > clock_) return errc::out_of_order;
  ++last_request_;
  mark_pull(table, op, to_the_end ? clock_vector::infinity : clock_,
            wanted != extent::as_policy);
  send_pull(id, table, out);
  return errc::ok;
}

errc worker_core::clock(operation op, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (!may_move_on()) return errc::out_of_order;
  for (const auto& [id, table] : tables_)
    if (table.pull.active) return errc::out_of_order;
  for (auto& [id, table] : tables_) {
    if (table.pushed_below > clock_) continue;
    mark_push(table, 0);
    send_or_wait(id, table, out);
  }
  ++clock_;
  out.dones.push_back({op, refusal::none});
  return errc::ok;
}

errc worker_core::exchange(std::span<const std::uint32_t> ids, operation op,
                           worker_effects& out, std::uint32_t half) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (!may_move_on()) return errc::out_of_order;
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
  exchange_ = {op, listed, refusal::none, listed, clock_, last_request_, half};
  for (auto& [id, table] : tables_) {
    if (table.listed) {
      mark_push(table, unnamed, half);
      mark_pull(table, op, clock_ + 1, false);
    } else if (table.pushed_below <= clock_) {
      mark_push(table, 0);
      send_or_wait(id, table, out);
    }
  }
  if (may_send(clock_))
    send_exchange(out);
  else
    waiting_ = clock_;
  ++clock_;
  if (listed == 0) out.dones.push_back({std::exchange(exchange_.op, 0), refusal::none});
  return errc::ok;
}

// One ring per shard for all tables when all take part and are attached there.
void worker_core::send_exchange(worker_effects& out) const {
  const auto [clock, request] = std::pair(exchange_.clock, exchange_.request);
  const bool all = exchange_.listed == tables_.size() && exchange_.listed > 1 &&
                   !TIDEGATE_BUGGIFY("worker: an exchange rings table by table") &&
                   std::all_of(tables_.begin(), tables_.end(), [](const auto& entry) {
                     return std::all_of(entry.second.parts.begin(), entry.second.parts.end(),
                                        [](const table_part& part) { return part.attached; });
                   });
  if (!all) {
    for (const auto& [id, table] : tables_)
      if (table.listed) send_push(id, table, table.pushes[clock % window], request, out);
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
    ring.clock = clock;
    ring.request = request;
    ring.half = exchange_.half;
    ring.pushes = ring.pulls = true;
    out.sends.push_back(ring);
  }
}

errc worker_core::finish(operation op, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (finished_ || room_op_ != 0 || exchange_.op != 0) return errc::out_of_order;
  for (const auto& [id, table] : tables_)
    if (table.pull.active || table.pushed_below > clock_) return errc::out_of_order;
  finished_ = true;
  finish_op_ = op;
  settle(out);
  return errc::ok;
}

void worker_core::farewell_to(std::uint32_t shard, worker_effects& out) const {
  worker_effects::send farewell;
  farewell.kind = send_kind::finished;
  farewell.shard = shard;
  farewell.clock = clock_;
  out.sends.push_back(farewell);
}

void worker_core::say_farewell(worker_effects& out) {
  farewell_sent_ = true;
  for (std::uint32_t shard = 0; shard < finish_acked_.size(); ++shard) farewell_to(shard, out);
}

}  // namespace tidegate::policies
