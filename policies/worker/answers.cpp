// What shards answer: from a frame to the operations that it ends.
#include <algorithm>
#include <utility>

#include "policies/model/clock_vector.hpp"
#include "policies/worker/core.hpp"
#include "policies/worker/requests.hpp"
#include "runtime/base/planted.hpp"

namespace tidegate::policies {

using runtime::is_planted;
using runtime::planted_bug;
using replied = pull_state::replied;

void worker_core::on_ack(std::uint32_t id, std::uint32_t chunk, std::uint64_t clock,
                         reply_code code, worker_effects& out) {
  auto* table = tables_.find(id, chunk);
  if (!table) return;
  auto& push = table->pushes[clock % window];
  if (push.active && push.clock == clock) ack(push, chunk, code, out);
}

void worker_core::ack(push_state& push, std::uint32_t chunk, reply_code code,
                      worker_effects& out) {
  if (std::exchange(push.acked[chunk], std::uint8_t{1}) != 0) return;  // a duplicate
  if (code != reply_code::ok) return fail(code, out);
  if (--push.remaining > 0) return;
  push.active = false;
  credits_.acknowledged(push.clock, push.op == 0);
  if (push.op != 0 && push.op != unnamed) ended(push.op, reply_code::ok, out);
  settle(out);
}

bool worker_core::is_acknowledged(std::uint32_t table, std::uint64_t clock) const {
  const auto& push = tables_.at(table).pushes[clock % window];
  return !push.active || push.clock != clock;
}

void worker_core::on_doorbell_ack(const part_run& where, std::uint64_t clock, reply_code code,
                                  worker_effects& out) {
  if (where.table == all_tables) {
    for (const auto& [id, table] : tables_) {
      const auto* part = table.part_at(where.shard);
      if (part && part->attached)
        on_doorbell_ack({.table = id, .shard = where.shard, .first = 0, .count = 0}, clock,
                        code, out);
    }
    return;
  }
  auto* table = tables_.find(where.table);
  if (!table) return;
  auto& push = table->pushes[clock % window];
  for (const auto chunk : table_book::chunks_of(*table, where)) {
    if (!push.active || push.clock != clock) return;
    ack(push, chunk, code, out);
  }
}

void worker_core::on_doorbell_reply(const part_run& where, const reply& item,
                                    worker_effects& out) {
  auto* table = tables_.find(where.table);
  if (!table) return;
  for (const auto chunk : table_book::chunks_of(*table, where)) {
    if (!table->pull.expects(chunk, item.request, replied::no)) continue;
    table->sources[chunk] = {item.version_buffer, tables_.moves_of(where.shard),
                             item.on_device};
    answer(where.table, *table, chunk, item, out);
  }
}

bool worker_core::on_finish_ack(std::uint32_t shard, reply_code code, worker_effects& out) {
  if (!farewell_.acknowledged(shard)) return false;
  code != reply_code::ok ? fail(code, out) : settle(out);
  return true;
}

bool worker_core::expects_reply(std::uint32_t id, std::uint32_t chunk,
                                std::uint64_t request) const {
  const auto* table = tables_.find(id, chunk);
  return table && table->pull.expects(chunk, request, replied::no);
}

void worker_core::begin_reply(std::uint32_t id, std::uint32_t chunk) {
  tables_.find(id)->pull.chunks[chunk] = replied::arriving;
}

bool worker_core::cancel_reply(std::uint32_t id, std::uint32_t chunk, std::uint64_t request) {
  auto* table = tables_.find(id, chunk);
  if (!table || !table->pull.expects(chunk, request, replied::arriving)) return false;
  table->pull.chunks[chunk] = replied::no;
  return true;
}

void worker_core::on_reply(std::uint32_t id, std::uint32_t chunk, const reply& item,
                           worker_effects& out) {
  auto* table = tables_.find(id, chunk);
  if (!table) return;
  // One with a payload has begun; a refusal comes without.
  const auto due = item.code == reply_code::ok ? replied::arriving : replied::no;
  if (!table->pull.expects(chunk, item.request, due)) return;
  if (!table->pull.calls || is_planted(planted_bug::call_takes_the_place_of_the_pull))
    table->sources[chunk] = {};
  answer(id, *table, chunk, item, out);
}

void worker_core::answer(std::uint32_t id, worker_table& table, std::uint32_t chunk,
                         const reply& answer, worker_effects& out) {
  auto& pull = table.pull;
  pull.chunks[chunk] = replied::yes;
  if (answer.code != reply_code::ok && pull.code == reply_code::ok) pull.code = answer.code;
  if (answer.code == reply_code::ok && !pull.is_ahead && pull.clock != clock_vector::infinity)
    staleness_.add(pull.clock, pull.clock - std::min(pull.clock, answer.min_clock));
  if (--pull.remaining > 0) return;
  pull.active = false;
  if (!pull.is_ahead) return ended(pull.op, pull.code, out);
  ended(pull.op, reply_code::ok, out);
  if (table.waiting.op != 0) begin_waiting_pull(id, table, ++last_request_, out);
  settle(out);
}

// An exchange has many parts and ends with the last.
void worker_core::ended(operation op, reply_code code, worker_effects& out) {
  if (op != exchange_.op) {
    out.dones.push_back({op, code});
    return;
  }
  if (code != reply_code::ok && exchange_.code == reply_code::ok) exchange_.code = code;
  if (--exchange_.remaining > 0) return;
  exchange_.op = 0;
  out.dones.push_back({op, exchange_.code});
}

void worker_core::settle(worker_effects& out) {
  send_waiting(out);
  if (room_op_ != 0 && has_room())
    out.dones.push_back({std::exchange(room_op_, 0), reply_code::ok});
  if (finish_op_ == 0) return;
  if (!farewell_.is_said() && credits_.all_acknowledged() && !tables_.is_any_pulled_ahead())
    farewell_.say(clock_, out);
  if (farewell_.is_said() && farewell_.is_settled())
    out.dones.push_back({std::exchange(finish_op_, 0), reply_code::ok});
}

// Everything under way ends now: its other answers may never come, and if they do, they belong
// to nothing.
void worker_core::fail(reply_code code, worker_effects& out) {
  failure_ = code;
  farewell_.give_up();
  const auto end = [&](operation op) {
    if (op != 0 && op != unnamed && op != exchange_.op) out.dones.push_back({op, code});
  };
  for (auto& [id, table] : tables_) {
    table.held = false;
    for (auto& push : table.pushes)
      if (std::exchange(push.active, false)) end(push.op);
    if (std::exchange(table.pull.active, false)) end(table.pull.op);
    end(std::exchange(table.waiting.op, 0));
  }
  end(std::exchange(room_op_, 0));
  end(std::exchange(finish_op_, 0));
  commits_.clear();
  credits_.clear();
  if (const auto op = std::exchange(exchange_.op, 0); op != 0) out.dones.push_back({op, code});
}

}  // namespace tidegate::policies
