// The programs that a run's launcher starts, those of its own host and agents of others, and
// what these find there. A value.
#pragma once

#include <vector>

#include "launch/agents/agent_starter.hpp"
#include "launch/agents/staged_files.hpp"
#include "launch/processes/starter.hpp"

namespace tidegate::launch {

struct run_programs {
  // Errors: those of starter::create, agent_starter::create and list_staged().
  static runtime::expected<run_programs> find(const policies::cluster_spec& spec,
                                              const variables& environment);

  starter own;
  agent_starter agents;
  std::vector<staged_file> staged;  // that other hosts are to have
};

}  // namespace tidegate::launch
