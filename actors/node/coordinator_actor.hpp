// The coordinator actor: carries out what policies::coordinator_core decides.
#pragma once

#include <cstdint>

#include <caf/fwd.hpp>

#include "actors/control/messages.hpp"
#include "actors/node/checkpoint_keeper.hpp"
#include "actors/node/journal_keeper.hpp"
#include "policies/model/spec.hpp"

namespace tidegate::actors {

// Ends when told to stop; ends its shards then. Ends with the error of its journal, without a
// word to anybody, when that cannot be written. `incarnation`: counts its processes, from 1.
coordinator_actor spawn_coordinator(caf::actor_system& system,
                                    const policies::cluster_spec& cluster, std::uint64_t token,
                                    checkpoint_keeper keeper = {}, kept_journal journal = {},
                                    std::uint32_t incarnation = 1);

}  // namespace tidegate::actors
