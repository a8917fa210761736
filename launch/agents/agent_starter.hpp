// Starts agents of hosts (launch/plan/agent_command.hpp) with what this machine has. One
// thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launch/plan/environment.hpp"
#include "launch/processes/spawn.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class agent_starter {
 public:
  // Finds the programs of the prefixes, and ssh where it is needed. Errors: not_found (every
  // missing one, a line each), io_error.
  static runtime::expected<agent_starter> create(const policies::cluster_spec& spec,
                                                 const variables& environment);

  // `input`: what the agent has as its standard input. The host has an agent of its own.
  spawn_request request(const policies::host_spec& host, const std::string& log_path,
                        int input) const;

 private:
  struct command {
    std::string program;
    std::vector<std::string> words;
  };

  variables environment_;
  std::map<std::string, command> commands_;  // that start agents, by the names of hosts
};

}  // namespace tidegate::launch
