// Whether the agents of other hosts are reached. Any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "policies/protocol/agent_messages.hpp"

namespace tidegate::actors {

struct reach_limits {
  // The other host's kernel answers, even of a host that is busy; it has lost a packet if not
  // within a second.
  std::uint32_t connect_ms = 1'500;
  // Who has answered proves the run's token.
  std::uint32_t prove_ms = 5'000;
};

// Connects to all at once, and has each prove that it is of the run of this token. Returns
// those that were not reached, and why. Blocks until all have answered or their time is up, and
// returns early once `stop` is readable: what is not known then is left out.
std::vector<policies::unreached_host> reach_peers(
    const std::vector<policies::peer_place>& peers, std::uint64_t token, int stop,
    const reach_limits& limits = {});

}  // namespace tidegate::actors
