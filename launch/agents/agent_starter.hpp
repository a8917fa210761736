// How the agent of a host is started: by the host's prefix, or by the OpenSSH client, either of
// which runs `tidegate host` there. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

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
  void add_ssh(const policies::host_spec& host, std::vector<std::string>& words) const;

  variables environment_;
  std::string own_program_;
  std::uint32_t start_timeout_ms_ = 0;
  std::uint32_t unreachable_ms_ = 0;
  std::map<std::string, std::string> programs_;  // that start agents, by the names of hosts
};

// Returns the text as a word of a POSIX shell.
std::string shell_word(const std::string& text);

}  // namespace tidegate::launch
