// The acknowledgements of a turn to members that use doorbells: one frame tells a member that
// all of its tables are acknowledged.
//
// One thread. Once warm, nothing allocates.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "policies/shard/effects.hpp"

namespace tidegate::policies::sharding {

struct ingress_state;

class ack_merger {
 public:
  using acknowledge = shard_effects::doorbell_acknowledge;

  explicit ack_merger(ingress_state& state) : state_(state) {}

  // Sends an acknowledgement now, or keeps it for post() where others may join it.
  void add(const acknowledge& ack);
  // Sends what the turn has added.
  void post();

 private:
  void send(std::span<const acknowledge> of_push);
  void send(const acknowledge& ack);
  bool covers(std::span<const acknowledge> of_push,
              const std::set<std::uint32_t>& tables) const;

  ingress_state& state_;
  std::vector<acknowledge> acks_;  // of this turn
};

}  // namespace tidegate::policies::sharding
