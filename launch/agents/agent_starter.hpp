// How the agent of a host is started: by the host's prefix, which runs `tidegate host` there.
// One thread.
#pragma once

#include <map>
#include <string>

#include "launch/plan/environment.hpp"
#include "launch/processes/spawn.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class agent_starter {
 public:
  // Finds the programs of the prefixes. Errors: not_found (every missing one, a line each),
  // io_error.
  static runtime::expected<agent_starter> create(const policies::cluster_spec& spec,
                                                 const variables& environment);

  // `input`: what the agent has as its standard input. The host has an agent of its own.
  spawn_request request(const policies::host_spec& host, const std::string& log_path,
                        int input) const;

 private:
  variables environment_;
  std::string own_program_;
  std::map<std::string, std::string> prefixes_;  // their programs, by the names of hosts
};

}  // namespace tidegate::launch
