// A session over given parts: the client of include/tidegate/session.hpp without its
// environment. Tests make sessions of an in-process cluster with it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "actors/control/coordinator_locator.hpp"
#include "actors/control/interrupt_check.hpp"
#include "actors/control/messages.hpp"
#include "actors/environment/environment.hpp"
#include "actors/reactor/reactor.hpp"
#include "runtime/device/open/open_device.hpp"
#include "runtime/heartbeat/heartbeat.hpp"
#include "runtime/process/mirror_channel.hpp"
#include "runtime/process/state_file.hpp"
#include <tidegate/session.hpp>

namespace tidegate::actors {

struct session_parts {
  std::shared_ptr<void> keep;  // what `system` needs to live, if anything
  caf::actor_system* system = nullptr;
  std::shared_ptr<coordinator_locator> coordinator;
  caf::actor
      coordinator_watcher;  // to the coordinator, where that may come back; the session ends it
  link_factory make_link;
  std::uint64_t host = 0;  // whose memory is shared (peer_address.hpp)
  worker_environment environment;
  interrupt_check interrupted;                // of every wait of the session's thread
  std::unique_ptr<runtime::heartbeat> beats;  // as long as the session lives; or null
  // How session::use_device() opens a device.
  std::function<runtime::expected<std::unique_ptr<runtime::devices::device>>(std::string_view)>
      open_device = runtime::devices::open_device;
  // Of the state that the session keeps.
  runtime::expected<std::shared_ptr<runtime::state_file>> state =
      runtime::fail(runtime::errc::unavailable, "this worker has no memory for state");
  // By which it is copied to the launcher; or null.
  std::shared_ptr<runtime::mirror_line> mirror;
};

// Joins the job: registers, waits until every shard expects this worker.
runtime::expected<session> join(session_parts parts);

}  // namespace tidegate::actors
