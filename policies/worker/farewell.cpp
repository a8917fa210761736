#include "policies/worker/farewell.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/rare.hpp"

namespace tidegate::policies {

void farewell::send_to(std::uint32_t shard, worker_effects& out) const {
  worker_effects::send send;
  send.kind = worker_effects::send_kind::finished;
  send.shard = shard;
  send.clock = clock_;
  out.sends.push_back(send);
}

void farewell::say(std::uint64_t clock, worker_effects& out) {
  said_ = true;
  clock_ = clock;
  for (std::uint32_t shard = 0; shard < acked_.size(); ++shard) send_to(shard, out);
}

bool farewell::acknowledged(std::uint32_t shard) {
  if (!said_ || shard >= acked_.size()) return false;
  return std::exchange(acked_[shard], std::uint8_t{1}) == 0;
}

void farewell::resend(std::uint32_t shard, worker_effects& out) const {
  if (said_ && acked_[shard] == 0) send_to(shard, out);
}

void farewell::tick(std::int64_t now, const retransmit_limits& limits, worker_effects& out) {
  if (is_settled() || !retransmit_.is_due(now, limits)) return;
  TIDEGATE_RARE("worker: a farewell is said again");
  for (std::uint32_t shard = 0; shard < acked_.size(); ++shard) resend(shard, out);
}

bool farewell::is_settled() const {
  return !said_ || given_up_ ||
         std::all_of(acked_.begin(), acked_.end(), [](auto acked) { return acked != 0; });
}

}  // namespace tidegate::policies
