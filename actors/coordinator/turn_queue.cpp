#include "actors/coordinator/turn_queue.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/planted.hpp"

namespace tidegate::actors {

using runtime::is_planted;
using runtime::planted_bug;

bool turn::goes_to(std::uint64_t handle) const {
  const auto is_it = [handle](const control_peer& peer) { return peer.handle == handle; };
  return std::ranges::any_of(callees, is_it) || std::ranges::any_of(hosts, is_it) ||
         std::ranges::any_of(retiring, is_it) || std::ranges::any_of(idle, is_it);
}

void turn_queue::add(turn next) {
  turns_.push_back(std::move(next));
  if (!works_) work();
}

// What is performed may lead to more turns, which follow.
void turn_queue::work() {
  works_ = true;
  while (!has_ended_ && !turns_.empty()) {
    if (!make_durable(turns_.front())) return;  // on_written() goes on
    auto done = std::move(turns_.front());
    turns_.pop_front();
    owner_.perform(done);
  }
  works_ = false;
}

// Returns whether the records are durable. Otherwise on_written() goes on with the work, or the
// coordinator has ended.
bool turn_queue::make_durable(turn& next) {
  if (next.durable || next.effects.records.empty()) return true;
  asks_journal_ = true;
  storage_.write(next.effects.records,
                 [this](const runtime::status& written) { on_written(written); });
  asks_journal_ = false;
  return !has_ended_ && next.durable;
}

// Nobody may hear of what cannot be kept.
void turn_queue::on_written(const runtime::status& written) {
  if (has_ended_) return;
  if (!written.ok() && !is_planted(planted_bug::told_though_not_recorded))
    return owner_.journal_failed(written);
  turns_.front().durable = true;
  if (!asks_journal_) work();
}

void turn_queue::refuse_all(const runtime::status& why) {
  for (auto& next : std::exchange(turns_, {}))
    if (next.reply) next.reply({why, {}});
}

bool turn_queue::goes_to(std::uint64_t handle) const {
  return std::ranges::any_of(turns_,
                             [handle](const turn& next) { return next.goes_to(handle); });
}

}  // namespace tidegate::actors
