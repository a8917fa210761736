// A CAF actor system as every Tidegate process needs it: message types, sharing scheduler,
// middleman.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include "actors/messages.hpp"
#include "runtime/base/status.hpp"

namespace tidegate::actors {

class system_config : public caf::actor_system_config {
 public:
  system_config();
};

// Owns config and system in the right order. Destruction waits for all actors: end them first.
class process_system {
 public:
  process_system() : system_(config_) {}
  caf::actor_system& get() noexcept { return system_; }

 private:
  system_config config_;
  caf::actor_system system_;
};

// Connects to the coordinator's control plane. Errors: unavailable.
runtime::expected<coordinator_actor> connect_coordinator(caf::actor_system& system,
                                                         const std::string& host,
                                                         std::uint16_t port);

}  // namespace tidegate::actors
