#include "policies/worker/core.hpp"

#include <algorithm>
#include <utility>

#include "policies/model/clock_vector.hpp"
#include "policies/worker/requests.hpp"
#include "runtime/base/assert.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/planted.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using runtime::errc;
using send_kind = worker_effects::send_kind;

void worker_core::add_table(std::uint32_t table, std::vector<chunk_place> places) {
  tables_.add(table, std::move(places), clock_);
}

void worker_core::attach(std::uint32_t table, std::uint32_t shard) {
  tables_.attach(table, shard);
}

void worker_core::shard_moved(std::uint32_t shard) {
  tables_.shard_moved(shard);
}

bool worker_core::may_move_on() const {
  return !finished_ && exchange_.op == 0 && has_room();
}

// Where the pushes of the oldest clock were, those of this one are to be.
bool worker_core::has_room() const {
  return failure_ == reply_code::ok && credits_.has_room(clock_);
}

errc worker_core::room(operation op, worker_effects& out) {
  if (failure_ != reply_code::ok) return errc::cancelled;
  if (finished_ || room_op_ != 0) return errc::out_of_order;
  room_op_ = op;
  settle(out);
  return errc::ok;
}

errc worker_core::push(std::uint32_t id, operation op, worker_effects& out, std::uint32_t half,
                       float rate, std::optional<chunk_list> chunks) {
  if (failure_ != reply_code::ok) return errc::cancelled;
  auto* table = tables_.find(id);
  if (!table) return errc::not_found;
  if (!may_move_on() || table->is_pulling() || table->pushed_below > clock_)
    return errc::out_of_order;
  begin_push(*table, op, half, rate);
  if (chunks) table->pushes[clock_ % window].touch(*chunks);
  table->held = commits_.holds(clock_, tables_.size());
  if (!table->held) send_or_wait(id, *table, out);
  return errc::ok;
}

errc worker_core::keep_state(operation op, worker_effects& out) {
  if (failure_ != reply_code::ok) return errc::cancelled;
  if (!commits_.begin(clock_, tables_.size())) return errc::out_of_order;
  out.dones.push_back({op, reply_code::ok});
  return errc::ok;
}

// Within the credit window, so that this worker resumes at the clock before this one at the
// least: its version is the oldest that is still needed.
void worker_core::let_go(bool commits, worker_effects& out) {
  if (!commits_.let_go(clock_, commits, out)) return;
  for (auto& [id, table] : tables_)
    if (std::exchange(table.held, false)) send_or_wait(id, table, out);
}

errc worker_core::release(operation op, worker_effects& out) {
  if (failure_ != reply_code::ok) return errc::cancelled;
  if (commits_.any_held()) let_go(commits_.is_complete(tables_.size()), out);
  out.dones.push_back({op, reply_code::ok});
  return errc::ok;
}

void worker_core::begin_push(worker_table& table, operation op, std::uint32_t half,
                             float rate) {
  tables_.note_push();
  auto& push = table.pushes[clock_ % window];
  push.begin(clock_, op, half);
  push.rate = rate;
  table.pushed_below = clock_ + 1;
  commits_.note_push();
  credits_.begin(clock_, op == 0);
}

void worker_core::send_or_wait(std::uint32_t id, const worker_table& table,
                               worker_effects& out) {
  if (credits_.may_send(clock_))
    send_push(id, table, table.pushes[clock_ % window], 0, out);
  else
    credits_.wait(clock_);
}

void worker_core::send_waiting(worker_effects& out) {
  const bool exchanges = exchange_waits();
  const auto clock = credits_.take_sendable();
  if (!clock) return;
  TIDEGATE_RARE("worker: pushes have waited for the clock before");
  for (const auto& [id, table] : tables_) {
    const auto& push = table.pushes[*clock % window];
    const bool is_held = table.held && *clock == clock_;
    if (push.active && push.clock == *clock && push.op != unnamed && !is_held)
      send_push(id, table, push, 0, out);
  }
  if (exchanges) send_exchange(out);
}

errc worker_core::pull(std::uint32_t id, operation op, extent wanted, worker_effects& out,
                       std::optional<chunk_list> chunks, answer_kind asked) {
  if (failure_ != reply_code::ok) return errc::cancelled;
  auto* table = tables_.find(id);
  if (!table) return errc::not_found;
  const bool is_ahead = asked == answer_kind::results_ahead;
  if (table->is_pulling() || exchange_.op != 0) return errc::out_of_order;
  if (table->pull.active && is_ahead) return errc::out_of_order;
  if (credits_.has_one_clock_in_flight() && !has_room()) return errc::out_of_order;
  const bool to_the_end = wanted == extent::to_the_end;
  if (finished_ != to_the_end) return errc::out_of_order;
  if (!to_the_end && table->pushed_below > clock_) return errc::out_of_order;
  auto& waiting = table->waiting;
  waiting.op = op;
  waiting.clock = to_the_end ? clock_vector::infinity : clock_;
  waiting.is_final = wanted != extent::as_policy;
  waiting.calls = asked != answer_kind::parameters;
  waiting.is_ahead = is_ahead;
  waiting.asks_all = !chunks;
  if (chunks) waiting.chunks.assign(chunks->begin(), chunks->end());
  if (!table->pull.active) begin_waiting_pull(id, *table, ++last_request_, out);
  return errc::ok;
}

errc worker_core::clock(operation op, worker_effects& out) {
  if (failure_ != reply_code::ok) return errc::cancelled;
  if (!may_move_on()) return errc::out_of_order;
  for (const auto& [id, table] : tables_)
    if (table.is_pulling()) return errc::out_of_order;
  let_go(true, out);
  for (auto& [id, table] : tables_) {
    if (table.pushed_below > clock_) continue;
    begin_push(table, 0);
    send_or_wait(id, table, out);
  }
  ++clock_;
  commits_.next_clock();
  out.dones.push_back({op, reply_code::ok});
  return errc::ok;
}

errc worker_core::exchange(std::span<const std::uint32_t> ids, operation op,
                           worker_effects& out, std::uint32_t half, float rate) {
  if (failure_ != reply_code::ok) return errc::cancelled;
  if (!may_move_on()) return errc::out_of_order;
  for (auto& [id, table] : tables_) {
    if (table.is_pulling()) return errc::out_of_order;
    table.listed = false;
  }
  std::size_t listed = 0;
  for (const auto id : ids) {
    auto* table = tables_.find(id);
    if (!table) return errc::not_found;
    if (table->listed || table->pull.active || table->pushed_below > clock_)
      return errc::out_of_order;
    table->listed = true;
    ++listed;
  }
  let_go(true, out);
  ++last_request_;
  exchange_ = {.op = op,
               .remaining = listed,
               .code = reply_code::ok,
               .listed = listed,
               .clock = clock_,
               .request = last_request_,
               .half = half,
               .rate = rate};
  for (auto& [id, table] : tables_) {
    if (table.listed) {
      begin_push(table, unnamed, half, rate);
      table.pull.begin(clock_ + 1, op, false, last_request_);
    } else if (table.pushed_below <= clock_) {
      begin_push(table, 0);
      send_or_wait(id, table, out);
    }
  }
  if (credits_.may_send(clock_))
    send_exchange(out);
  else
    credits_.wait(clock_);
  ++clock_;
  commits_.next_clock();
  if (listed == 0) out.dones.push_back({std::exchange(exchange_.op, 0), reply_code::ok});
  return errc::ok;
}

// One doorbell per shard for all tables when all take part and are attached there.
void worker_core::send_exchange(worker_effects& out) const {
  const auto [clock, request] = std::pair(exchange_.clock, exchange_.request);
  const bool all = exchange_.listed == tables_.size() && exchange_.listed > 1 &&
                   !TIDEGATE_BUGGIFY("worker: an exchange rings table by table") &&
                   std::all_of(tables_.begin(), tables_.end(),
                               [](const auto& entry) { return entry.second.is_attached(); });
  if (!all) {
    for (const auto& [id, table] : tables_)
      if (table.listed) send_push(id, table, table.pushes[clock % window], request, out);
    return;
  }
  for (std::uint32_t shard = 0; shard < tables_.shards(); ++shard) {
    const bool any = std::any_of(tables_.begin(), tables_.end(), [&](const auto& entry) {
      return entry.second.part_at(shard) != nullptr;
    });
    if (!any) continue;
    worker_effects::send doorbell;
    doorbell.kind = send_kind::doorbell;
    doorbell.shard = shard;
    doorbell.table = all_tables;
    doorbell.clock = clock;
    doorbell.request = request;
    doorbell.half = exchange_.half;
    doorbell.rate = exchange_.rate;
    doorbell.pushes = doorbell.pulls = true;
    out.sends.push_back(doorbell);
  }
}

errc worker_core::finish(operation op, worker_effects& out) {
  if (failure_ != reply_code::ok) return errc::cancelled;
  if (finished_ || room_op_ != 0 || exchange_.op != 0) return errc::out_of_order;
  for (const auto& [id, table] : tables_)
    if (table.is_pulling() || table.pushed_below > clock_) return errc::out_of_order;
  finished_ = true;
  finish_op_ = op;
  settle(out);
  return errc::ok;
}

void worker_core::tick(std::int64_t now, worker_effects& out) {
  for (auto& [id, table] : tables_) {
    for (const auto slot : table.older_first()) {
      auto& push = table.pushes[slot];
      const bool is_held = table.held && push.clock == clock_;
      if (!push.active || is_held || credits_.waits(push.clock)) continue;
      const bool early = TIDEGATE_BUGGIFY("worker: a push is sent again early");
      if (push.retransmit.is_due(now, retransmit_limits_) || early)
        resend_push(id, table, push, every_shard, out);
    }
    if (!table.pull.active || exchange_waits()) continue;
    const bool early = TIDEGATE_BUGGIFY("worker: a pull is sent again early");
    if (table.pull.retransmit.is_due(now, retransmit_limits_) || early)
      policies::resend_pull(id, table, every_shard, ++last_request_, out);
  }
  farewell_.tick(now, retransmit_limits_, out);
}

// Of a shard that another process serves now.
void worker_core::retransmit(std::uint32_t shard, worker_effects& out) {
  TIDEGATE_RARE("worker: a shard has moved");
  // An aggregator in the place of another has not heard it.
  farewell_.forget(shard);
  resend(shard, out);
}

void worker_core::resend(std::uint32_t shard, worker_effects& out) {
  for (auto& [id, table] : tables_) {
    for (const auto slot : table.older_first()) {
      const auto& push = table.pushes[slot];
      const bool is_held = table.held && push.clock == clock_;
      if (push.active && !is_held && !credits_.waits(push.clock))
        resend_push(id, table, push, shard, out);
    }
    if (table.pull.active && !exchange_waits())
      policies::resend_pull(id, table, shard, ++last_request_, out);
  }
  farewell_.resend(shard, out);
}

void worker_core::resend_unanswered(const unanswered& of, worker_effects& out) {
  auto* table = of.chunk ? tables_.find(of.table, *of.chunk) : tables_.find(of.table);
  if (!table) return;
  if (of.clock) {
    const auto& push = table->pushes[*of.clock % window];
    if (push.active && push.clock == *of.clock && push.acked[*of.chunk] == 0)
      policies::repeat_push(of.table, *table, push, *of.chunk, out);
    return;
  }
  if (!table->pull.active || exchange_waits()) return;
  if (of.chunk)
    policies::repeat_call(of.table, *table, *of.chunk, ++last_request_, out);
  else
    policies::resend_pull(of.table, *table, of.shard, ++last_request_, out);
}

bool worker_core::is_busy() const {
  return !credits_.all_acknowledged() || !farewell_.is_settled() ||
         std::any_of(tables_.begin(), tables_.end(),
                     [](const auto& entry) { return entry.second.pull.active; });
}

}  // namespace tidegate::policies
