#include "actors/control/system.hpp"

#include <algorithm>
#include <chrono>

#include <caf/all.hpp>
#include <caf/io/all.hpp>

#include "actors/environment/environment.hpp"
#include "runtime/base/assert.hpp"

namespace tidegate::actors {

namespace {

// So that an idle connection carries something, whose acknowledgement is missed when the other
// host has gone without a word (control_options::unreachable_ms).
caf::timespan heartbeat_interval() {
  return std::chrono::milliseconds(std::min(2000U, unreachable_ms() / 4));
}

}  // namespace

system_config::system_config() {
  add_message_types<caf::id_block::tidegate>();
  load<caf::io::middleman>();
  // Work stealing polls; sharing sleeps until there is work. Control traffic needs no more
  // threads.
  set("scheduler.policy", caf::atom("sharing"));
  set("scheduler.max-threads", 1u);
  set("middleman.workers", 0u);
  set("middleman.heartbeat-interval", heartbeat_interval());
}

process_system::process_system() : system_(config_) {}

process_system::process_system(std::uint64_t token, bool encrypt) : system_(config_) {
  control_ = std::make_unique<control_plane>(
      system_, control_options{
                   .token = token, .unreachable_ms = unreachable_ms() / 2, .encrypt = encrypt});
}

process_system::~process_system() {
  system_.await_all_actors_done();
  if (control_) control_->end();
}

control_plane& process_system::control() noexcept {
  TIDEGATE_ASSERT(control_ != nullptr, "this process is told the run's token");
  return *control_;
}

}  // namespace tidegate::actors
