// The folder of a run on a host: the run folder itself where the host shares it with the
// launcher, else one of the host's own with what its processes need. Any thread.
#pragma once

#include <string>

#include "launch/agents/agent_config.hpp"
#include "policies/model/spec.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::launch {

class host_folder {
 public:
  // The run folder is shared if it holds what this run's launcher has written there. Else the
  // folder is /tmp/tidegate-UID/RUN-HASH, for this user alone (0700): the same for all agents
  // of a host in a run. Errors: refused (it
  // is another user's), no_space, io_error; invalid_argument (the cluster writes what all hosts
  // have to see, and the message says what to do).
  static runtime::expected<host_folder> open(const agent_config& config,
                                             const policies::cluster_spec& spec);

  const std::string& path() const noexcept { return path_; }
  bool is_shared() const noexcept { return is_shared_; }
  // Removes what an earlier agent has left of logs, if the folder is the host's own: they are
  // told already. To be called when that agent has ended. Errors: io_error.
  runtime::status clear_logs() const;
  // Removes the folder and all in it, if it is the host's own.
  void remove() const;

 private:
  host_folder(std::string path, bool is_shared)
      : path_(std::move(path)), is_shared_(is_shared) {}

  std::string path_;
  bool is_shared_;
};

}  // namespace tidegate::launch
