// The coordinator actor: carries out what policies::coordinator_core decides.
#pragma once

#include <cstdint>

#include <caf/fwd.hpp>

#include "actors/checkpoint_keeper.hpp"
#include "actors/messages.hpp"
#include "policies/spec.hpp"

namespace tidegate::actors {

// Ends when told to stop; ends its shards then.
coordinator_actor spawn_coordinator(caf::actor_system& system,
                                    const policies::cluster_spec& cluster, std::uint64_t token,
                                    checkpoint_keeper keeper = {});

}  // namespace tidegate::actors
