// What an agent does about the memory of a worker's state before it starts a process of the
// worker. Pure.
#pragma once

#include "policies/protocol/agent_messages.hpp"

namespace tidegate::policies {

struct state_memory_plan {
  // The process gets new memory: the host has none of this worker, or it is of no use any more.
  bool is_new = false;
  // The worker is known to have had no state before it got this memory. Otherwise that of new
  // memory is what the launcher has copies of, or gone.
  bool has_history = false;
};

// `has_memory`: the host has memory of this worker.
state_memory_plan plan_state_memory(const agent_orders::start& start, bool has_memory);

}  // namespace tidegate::policies
