#include "policies/shard/reply_ledger.hpp"

#include <utility>

#include "policies/shard/ingress_state.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::policies::sharding {

send_name reply_ledger::take_name(const shard_effects::reply& reply) {
  if (free_.empty()) {
    replies_.emplace_back();
    free_.reserve(replies_.size());
    free_.push_back(replies_.size());
  }
  const auto name = free_.back();
  free_.pop_back();
  replies_[name - 1] = {.job = reply.tag.job,
                        .slot = reply.slot,
                        .rank = reply.tag.rank,
                        .version_buffer = reply.where.version_buffer,
                        .counts = true};
  return name;
}

void reply_ledger::sent(send_name name) {
  if (name == 0) return;
  TIDEGATE_ASSERT(name <= replies_.size(), "a name of take_name");
  auto& reply = replies_[name - 1];
  if (std::exchange(reply.counts, false)) ended(reply.slot, reply.rank, reply.version_buffer);
  free_.push_back(name);
}

void reply_ledger::not_sent(const shard_effects::reply& reply) {
  ended(reply.slot, reply.tag.rank, reply.where.version_buffer);
}

void reply_ledger::give_up(std::uint64_t job, std::uint32_t rank) {
  for (auto& reply : replies_) {
    if (!reply.counts || reply.job != job || reply.rank != rank) continue;
    reply.counts = false;
    ended(reply.slot, reply.rank, reply.version_buffer);
  }
}

// What waits for it is decided in a turn of its own: this may be within carry_out().
void reply_ledger::ended(std::uint32_t slot, std::uint32_t rank, std::uint32_t version_buffer) {
  if (!state_.core.sent(slot, rank, version_buffer)) return;
  due_.push_back({.slot = slot, .rank = rank});
  state_.turns.go_on_soon();
}

void reply_ledger::answer_due() {
  for (const auto& due : due_) {
    const auto name = state_.core.registry().name_of(due.slot);
    state_.core.answer_waiting(due.slot, due.rank, state_.turns.pending(name.job, name.table));
  }
  due_.clear();
}

}  // namespace tidegate::policies::sharding
