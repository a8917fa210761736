// All that ingress_core knows, divided along who owns it; the parts reach each other through
// this struct.
#pragma once

#include <cstdint>

#include "policies/shard/ack_merger.hpp"
#include "policies/shard/core.hpp"
#include "policies/shard/ingress_shell.hpp"
#include "policies/shard/member_links.hpp"
#include "policies/shard/reply_ledger.hpp"
#include "policies/shard/turn_runner.hpp"

namespace tidegate::policies::sharding {

struct ingress_state {
  ingress_state(ingress_shell& asked, shard_core& asking, std::uint32_t number,
                std::uint64_t turn_bytes)
      : shell(asked), core(asking), index(number), turns(*this, turn_bytes) {}
  ingress_state(const ingress_state&) = delete;
  ingress_state& operator=(const ingress_state&) = delete;

  ingress_shell& shell;
  shard_core& core;
  const std::uint32_t index;  // of the shard
  member_links links{*this};
  reply_ledger replies{*this};
  ack_merger acks{*this};
  turn_runner turns;
};

}  // namespace tidegate::policies::sharding
