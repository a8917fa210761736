// The control plane of this process: CAF's network, to which only connections come whose both
// ends have proven the run's token. Neither CAF's parser nor an actor sees anything of others.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <caf/fwd.hpp>

#include "actors/control/connection.hpp"
#include "actors/control/messages.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

// Any thread. It ends before its actor system and is destroyed after it: actors may have it to
// the last.
class control_plane {
 public:
  control_plane(caf::actor_system& system, const control_options& options);
  control_plane(const control_plane&) = delete;
  control_plane& operator=(const control_plane&) = delete;
  ~control_plane();

  // Connects to the coordinator that listens there. Blocks. Errors: unavailable.
  runtime::expected<coordinator_actor> connect(const std::string& host, std::uint16_t port);
  // Listens for processes of this run, which then reach this actor. Returns the port; `port` 0:
  // the system chooses. Errors: unavailable (the port is in use).
  runtime::expected<std::uint16_t> publish(const coordinator_actor& coordinator,
                                           const std::string& host, std::uint16_t port);
  // From now on every call fails.
  void end();

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace tidegate::actors
