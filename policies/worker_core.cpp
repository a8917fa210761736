#include "policies/worker_core.hpp"

#include <algorithm>
#include <utility>

#include "policies/clock_vector.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies {

using runtime::errc;

void worker_core::add_table(std::uint32_t id, std::vector<chunk_place> places) {
  TIDEGATE_ASSERT(!places.empty(), "a table has a chunk");
  auto [at, fresh] = tables_.try_emplace(id);
  if (!fresh) return;
  auto& table = at->second;
  table.pushed_below = clock_;
  for (auto& push : table.pushes) push.acked.resize(places.size());
  table.pull.replied.resize(places.size());
  table.places = std::move(places);
}

const chunk_place& worker_core::place_of(std::uint32_t table, std::uint32_t chunk) const {
  const auto at = tables_.find(table);
  TIDEGATE_ASSERT(at != tables_.end() && chunk < at->second.places.size(), "a known chunk");
  return at->second.places[chunk];
}

errc worker_core::push(std::uint32_t id, operation op, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  const auto at = tables_.find(id);
  if (at == tables_.end()) return errc::not_found;
  auto& table = at->second;
  if (finished_ || clock_op_ != 0 || table.pull.active || table.pushed_below > clock_)
    return errc::out_of_order;
  start_push(id, table, op, out);
  return errc::ok;
}

void worker_core::start_push(std::uint32_t id, table_state& table, operation op,
                             worker_effects& out) {
  auto& push = table.pushes[clock_ % window];
  TIDEGATE_ASSERT(!push.active, "clock() waits for the credit window");
  push.active = true;
  push.clock = clock_;
  push.op = op;
  push.remaining = static_cast<std::uint32_t>(table.places.size());
  push.code = refusal::none;
  std::fill(push.acked.begin(), push.acked.end(), std::uint8_t{0});
  table.pushed_below = clock_ + 1;
  const auto kind = op == 0 ? worker_effects::send_kind::skip : worker_effects::send_kind::push;
  for (const auto& place : table.places)
    out.sends.push_back(
        {kind, place.shard, id, place.chunk, place.first, place.elements, clock_, false});
}

errc worker_core::pull(std::uint32_t id, operation op, extent what, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  const auto at = tables_.find(id);
  if (at == tables_.end()) return errc::not_found;
  auto& table = at->second;
  if (table.pull.active || clock_op_ != 0) return errc::out_of_order;
  const bool to_the_end = what == extent::to_the_end;
  if (finished_ != to_the_end) return errc::out_of_order;
  if (!to_the_end && table.pushed_below > clock_) return errc::out_of_order;
  auto& pull = table.pull;
  pull.active = true;
  pull.clock = to_the_end ? clock_vector::infinity : clock_;
  pull.op = op;
  pull.remaining = static_cast<std::uint32_t>(table.places.size());
  pull.code = refusal::none;
  std::fill(pull.replied.begin(), pull.replied.end(), std::uint8_t{0});
  for (const auto& place : table.places)
    out.sends.push_back({worker_effects::send_kind::pull, place.shard, id, place.chunk,
                         place.first, place.elements, pull.clock, what != extent::as_policy});
  return errc::ok;
}

errc worker_core::clock(operation op, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (finished_ || clock_op_ != 0) return errc::out_of_order;
  for (const auto& [id, table] : tables_)
    if (table.pull.active) return errc::out_of_order;
  for (auto& [id, table] : tables_)
    if (table.pushed_below <= clock_) start_push(id, table, 0, out);
  ++clock_;
  clock_op_ = op;
  settle(out);
  return errc::ok;
}

errc worker_core::finish(operation op, worker_effects& out) {
  if (failure_ != refusal::none) return errc::cancelled;
  if (finished_ || clock_op_ != 0) return errc::out_of_order;
  for (const auto& [id, table] : tables_)
    if (table.pull.active || table.pushed_below > clock_) return errc::out_of_order;
  finished_ = true;
  finish_op_ = op;
  settle(out);
  return errc::ok;
}

void worker_core::say_farewell(worker_effects& out) {
  farewell_sent_ = true;
  for (std::uint32_t shard = 0; shard < finish_acked_.size(); ++shard)
    out.sends.push_back(
        {worker_effects::send_kind::finished, shard, 0, 0, 0, 0, clock_, false});
}

void worker_core::on_ack(std::uint32_t id, std::uint32_t chunk, std::uint64_t clock,
                         refusal code, worker_effects& out) {
  const auto at = tables_.find(id);
  if (at == tables_.end() || chunk >= at->second.places.size()) return;
  auto& push = at->second.pushes[clock % window];
  if (!push.active || push.clock != clock || push.acked[chunk]) return;  // a duplicate
  push.acked[chunk] = 1;
  if (code != refusal::none && push.code == refusal::none) push.code = code;
  if (--push.remaining > 0) return;
  push.active = false;
  if (push.code != refusal::none && failure_ == refusal::none) failure_ = push.code;
  if (push.op != 0) out.dones.push_back({push.op, push.code});
  settle(out);
}

void worker_core::on_finish_ack(std::uint32_t shard, refusal code, worker_effects& out) {
  if (!farewell_sent_ || shard >= finish_acked_.size()) return;
  finish_acked_[shard] = 1;
  if (code != refusal::none && failure_ == refusal::none) failure_ = code;
  settle(out);
}

bool worker_core::expects_reply(std::uint32_t id, std::uint32_t chunk,
                                std::uint64_t clock) const {
  const auto at = tables_.find(id);
  if (at == tables_.end() || chunk >= at->second.places.size()) return false;
  const auto& pull = at->second.pull;
  return pull.active && pull.clock == clock && !pull.replied[chunk];
}

void worker_core::on_reply(std::uint32_t id, std::uint32_t chunk, std::uint64_t clock,
                           std::uint64_t min_clock, refusal code, worker_effects& out) {
  if (!expects_reply(id, chunk, clock)) return;
  auto& pull = tables_.at(id).pull;
  pull.replied[chunk] = 1;
  if (code != refusal::none && pull.code == refusal::none) pull.code = code;
  if (code == refusal::none && clock != clock_vector::infinity && min_clock < clock)
    staleness_max_ = std::max(staleness_max_, clock - min_clock);
  if (--pull.remaining > 0) return;
  pull.active = false;
  out.dones.push_back({pull.op, pull.code});
}

bool worker_core::window_open() const {
  return std::none_of(tables_.begin(), tables_.end(), [&](const auto& entry) {
    return entry.second.pushes[clock_ % window].active;
  });
}

bool worker_core::pushes_acked() const {
  for (const auto& [id, table] : tables_)
    for (const auto& push : table.pushes)
      if (push.active) return false;
  return true;
}

void worker_core::settle(worker_effects& out) {
  const bool failed = failure_ != refusal::none;
  if (clock_op_ != 0 && (failed || window_open()))
    out.dones.push_back({std::exchange(clock_op_, 0), failure_});
  if (finish_op_ == 0) return;
  if (!failed && !farewell_sent_ && pushes_acked()) say_farewell(out);
  const bool heard = std::all_of(finish_acked_.begin(), finish_acked_.end(),
                                 [](auto acked) { return acked != 0; });
  if (failed || (farewell_sent_ && heard))
    out.dones.push_back({std::exchange(finish_op_, 0), failure_});
}

}  // namespace tidegate::policies
