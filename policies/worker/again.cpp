// What is sent again because no answer came.
#include <algorithm>
#include <numeric>

#include "policies/worker/core.hpp"
#include "runtime/base/buggify.hpp"
#include "runtime/base/rare.hpp"

namespace tidegate::policies {

using send_kind = worker_effects::send_kind;

bool worker_core::is_busy() const {
  return !pushes_acked() || !farewell_heard() ||
         std::any_of(tables_.begin(), tables_.end(),
                     [](const auto& entry) { return entry.second.pull.active; });
}

// By all it has been said to.
bool worker_core::farewell_heard() const {
  return !farewell_sent_ || failure_ != refusal::none ||
         std::all_of(finish_acked_.begin(), finish_acked_.end(),
                     [](auto acked) { return acked != 0; });
}

// Places of its pushes.
std::array<std::size_t, worker_core::window> worker_core::older_first(
    const table_state& table) {
  std::array<std::size_t, window> slots{};
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  std::sort(slots.begin(), slots.end(),
            [&](auto a, auto b) { return table.pushes[a].clock < table.pushes[b].clock; });
  return slots;
}

void worker_core::tick(std::int64_t now, worker_effects& out) {
  for (auto& [id, table] : tables_) {
    for (const auto slot : older_first(table)) {
      auto& push = table.pushes[slot];
      if (!push.active || waits(push)) continue;
      const bool early = TIDEGATE_BUGGIFY("worker: a push is sent again early");
      if (push.again.is_over(now, patience_) || early)
        push_again(id, table, push, every_shard, out);
    }
    if (!table.pull.active || exchange_waits()) continue;
    const bool early = TIDEGATE_BUGGIFY("worker: a pull is sent again early");
    if (table.pull.again.is_over(now, patience_) || early)
      pull_again(id, table, every_shard, out);
  }
  if (farewell_heard() || !farewell_again_.is_over(now, patience_)) return;
  TIDEGATE_RARE("worker: a farewell is said again");
  for (std::uint32_t shard = 0; shard < finish_acked_.size(); ++shard)
    if (finish_acked_[shard] == 0) farewell_to(shard, out);
}

// Of a shard that another process serves now.
void worker_core::again(std::uint32_t shard, worker_effects& out) {
  TIDEGATE_RARE("worker: a shard has moved");
  // An aggregator in the place of another has not heard it.
  finish_acked_[shard] = 0;
  resend(shard, out);
}

void worker_core::resend(std::uint32_t shard, worker_effects& out) {
  for (auto& [id, table] : tables_) {
    for (const auto slot : older_first(table)) {
      const auto& push = table.pushes[slot];
      if (push.active && !waits(push)) push_again(id, table, push, shard, out);
    }
    if (table.pull.active && !exchange_waits()) pull_again(id, table, shard, out);
  }
  if (farewell_sent_ && finish_acked_[shard] == 0) farewell_to(shard, out);
}

void worker_core::resend_pull(std::uint32_t table, std::uint32_t shard, worker_effects& out) {
  const auto at = tables_.find(table);
  if (at == tables_.end() || !at->second.pull.active || exchange_waits()) return;
  pull_again(table, at->second, shard, out);
}

void worker_core::push_again(std::uint32_t id, const table_state& table, const push_state& push,
                             std::uint32_t shard, worker_effects& out) const {
  TIDEGATE_RARE("worker: a push is sent again");
  for (const auto& part : table.parts) {
    if (shard != every_shard && part.shard != shard) continue;
    auto send = send_of(id, push, part.attached);
    send.shard = part.shard;
    bool rung = false;
    for (const auto chunk : part.chunks) {
      if (push.acked[chunk] != 0 || rung) continue;
      rung = part.attached;  // once for all
      if (!rung) aim(send, table.places[chunk]);
      out.sends.push_back(send);
    }
  }
}

// With a new number, as shards answer each number once. A chunk that is arriving is not lost.
void worker_core::pull_again(std::uint32_t id, table_state& table, std::uint32_t shard,
                             worker_effects& out) {
  TIDEGATE_RARE("worker: a pull is sent again");
  ++last_request_;
  auto& pull = table.pull;
  auto send = pull_of(id, table);
  for (const auto& part : table.parts) {
    if (shard != every_shard && part.shard != shard) continue;
    send.shard = part.shard;
    send.kind = part.attached ? send_kind::ring : send_kind::pull;
    const auto is_due = [&](std::uint32_t chunk) { return pull.chunks[chunk] == replied::no; };
    if (std::none_of(part.chunks.begin(), part.chunks.end(), is_due)) continue;
    for (const auto chunk : part.chunks) {
      if (part.attached && pull.chunks[chunk] == replied::yes) {
        // The ring asks for the whole part, and moves the lease to what it is answered with.
        pull.chunks[chunk] = replied::no;
        ++pull.remaining;
      }
      if (!is_due(chunk)) continue;
      pull.requests[chunk] = last_request_;
      if (part.attached) continue;
      aim(send, table.places[chunk]);
      out.sends.push_back(send);
    }
    if (part.attached) out.sends.push_back(send);
  }
}

}  // namespace tidegate::policies
