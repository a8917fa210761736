// `tidegate door`: where launchers start agents of a host that they cannot log in to, a pod of
// Kubernetes, say. Who proves the key may start an agent, `tidegate host`, and by that any
// process. Main thread only.
#pragma once

#include <string>

#include "launch/text/exit_code.hpp"

namespace tidegate::launch {

struct door_options {
  std::string listen = "0.0.0.0";  // sockets.hpp: parse_place()
  std::string key_file;
};

// Serves until SIGTERM, SIGINT or SIGHUP, which ends the agents. Its first line on stdout says
// where it listens. Returns what to exit with; why is on stderr.
exit_code run_door(const door_options& options);

}  // namespace tidegate::launch
