// A CAF actor system as every Tidegate process needs it: message types, sharing scheduler,
// middleman.
#pragma once

#include <cstdint>
#include <memory>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include "actors/control/control_plane.hpp"
#include "actors/control/messages.hpp"

namespace tidegate::actors {

class system_config : public caf::actor_system_config {
 public:
  system_config();
};

// Owns config, system and control plane in the right order. Destruction waits for all actors:
// end them first.
class process_system {
 public:
  // Without a control plane: its actors know those of this process alone.
  process_system();
  // `token`: of the run; `encrypt`: whether connections are under TLS, as for all of its
  // processes.
  process_system(std::uint64_t token, bool encrypt);
  ~process_system();
  caf::actor_system& get() noexcept { return system_; }
  // There must be one.
  control_plane& control() noexcept;

 private:
  system_config config_;
  std::unique_ptr<control_plane> control_;  // before the system: actors may have it to the last
  caf::actor_system system_;
};

}  // namespace tidegate::actors
