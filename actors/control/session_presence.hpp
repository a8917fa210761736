// What the coordinator knows a worker's session by: it watches this actor, and tells it when
// another process has taken the place of its own. A process that was given up because it hung
// learns of it this way when it wakes, whatever its program is doing.
#pragma once

#include <caf/actor.hpp>
#include <caf/fwd.hpp>

#include "runtime/base/status.hpp"

namespace tidegate::actors {

// Ends when it is told to. Told that its process is replaced, it logs that and ends the process
// at once: what it still did would be refused, and it must do nothing else, either, as its
// successor does the same.
caf::actor spawn_session_presence(caf::actor_system& system);

}  // namespace tidegate::actors
