// `tidegate door`: where launchers start agents of a host that they cannot log in to, a pod of
// Kubernetes, say. Who proves the key may start an agent, `tidegate host`, and by that any
// process. Main thread only.
#pragma once

#include <string>

namespace tidegate::launch {

struct door_options {
  std::string listen = "::";  // sockets.hpp: parse_place(); all addresses of both kinds
  std::string key_file;
};

// Serves until SIGTERM, SIGINT or SIGHUP, which ends the agents. Its first line on stdout says
// where it listens. Returns what to exit with: 128 and the signal, as a door is never done, so
// that whoever has started it starts it again; 2 if it cannot be opened, why is on stderr.
int run_door(const door_options& options);

}  // namespace tidegate::launch
