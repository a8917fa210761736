// The farewell of a worker to its shards, said when every push is acknowledged, and again until
// each shard has acknowledged it. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/supervision/retransmit_timer.hpp"
#include "policies/worker/effects.hpp"

namespace tidegate::policies {

class farewell {
 public:
  explicit farewell(std::uint32_t shards) : acked_(shards, 0) {}

  // Says it to all shards. `clock`: the worker's last.
  void say(std::uint64_t clock, worker_effects& out);
  // Takes in that the shard has acknowledged it. Returns false if that was known.
  bool acknowledged(std::uint32_t shard);
  // Forgets what this shard has acknowledged, as another process serves it now.
  void forget(std::uint32_t shard) { acked_[shard] = 0; }
  // Say it again: to this shard, or when it is time to all shards, that have not acknowledged
  // it.
  void resend(std::uint32_t shard, worker_effects& out) const;
  void tick(std::int64_t now, const retransmit_limits& limits, worker_effects& out);
  // Waits for no acknowledgement any more, as the worker has failed.
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
