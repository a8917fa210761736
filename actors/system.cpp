#include "actors/system.hpp"

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actors/errors.hpp"

namespace tidegate::actors {

system_config::system_config() {
  add_message_types<caf::id_block::tidegate>();
  load<caf::io::middleman>();
  // Work stealing polls; sharing sleeps until there is work. Control traffic needs no more
  // threads.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", 1u);
  set("middleman.workers", 0u);
}

runtime::expected<coordinator_actor> connect_coordinator(caf::actor_system& system,
                                                         const std::string& host,
                                                         std::uint16_t port) {
  auto found = system.middleman().remote_actor<coordinator_actor>(host, port);
  if (!found)
    return runtime::fail(runtime::errc::unavailable,
                         "no coordinator answers at " + host + ":" + std::to_string(port));
  return *found;
}

}  // namespace tidegate::actors
