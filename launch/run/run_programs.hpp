// The programs that a run's launcher starts: those of its own host, and agents of others. A
// value.
#pragma once

#include "launch/agents/agent_starter.hpp"
#include "launch/processes/starter.hpp"

namespace tidegate::launch {

struct run_programs {
  // Errors: those of starter::create and agent_starter::create.
  static runtime::expected<run_programs> find(const policies::cluster_spec& spec,
                                              const variables& environment);

  starter own;
  agent_starter agents;
};

}  // namespace tidegate::launch
