// How a worker says farewell to its shards when every push is acknowledged, until each has
// acknowledged that.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/supervision/retransmit_timer.hpp"
#include "policies/worker/effects.hpp"

namespace tidegate::policies {

class farewell {
 public:
  explicit farewell(std::uint32_t shards) : acked_(shards, 0) {}

  // `clock`: the worker's last.
  void say(std::uint64_t clock, worker_effects& out);
  // Returns true if that was news.
  bool acknowledged(std::uint32_t shard);
  // Another process serves this shard, and may not have heard it.
  void forget(std::uint32_t shard) { acked_[shard] = 0; }
  // Says it again to a shard that has not acknowledged it; or, in time, to all such.
  void resend(std::uint32_t shard, worker_effects& out) const;
  void tick(std::int64_t now, const retransmit_limits& limits, worker_effects& out);
  // The worker has failed: nothing is waited for any more.
  void give_up() { given_up_ = true; }

  bool is_said() const { return said_; }
  // Returns true unless acknowledgements are waited for.
  bool is_settled() const;

 private:
  void send_to(std::uint32_t shard, worker_effects& out) const;

  std::vector<std::uint8_t> acked_;  // per shard
  std::uint64_t clock_ = 0;
  bool said_ = false;
  bool given_up_ = false;
  retransmit_timer retransmit_;
};

}  // namespace tidegate::policies
